import { describe, expect, test } from 'vitest';

import { type PathName, renaming, withHandles, withoutPaths } from './path-names.ts';

const ID = '0123456789abcdef0123456789abcdef';
const HANDLE = 'artifact://sessions/s/f/page one.png';
const SESSION = 'fedcba9876543210fedcba9876543210';
const escaped = (by: string): string => ID.replaceAll(/./g, (digit) => by + digit.charCodeAt(0).toString(16));
const BELOW: PathName = { id: ID, rest: undefined, handle: HANDLE };

describe('a path below a folder of ours', () => {
  test.each([
    ['absolute', `Saved to /data/shared/artifacts/sessions/5e5/${ID}/page.png`, `Saved to ${HANDLE}`],
    ['at the end of a sentence', `It is /data/${ID}/page.png.`, `It is ${HANDLE}.`],
    ['relative', `see storage/artifacts/${ID}/page.png, please`, `see ${HANDLE}, please`],
    ['with dots', `../shared/${ID}/page.png`, HANDLE],
    ['a file URI', `<file:///data/${ID}/page.png>`, `<${HANDLE}>`],
    ['escaped', `file:///data/${ID}/page%20one.png`, HANDLE],
    ['in quotes', `"/data/${ID}/page.png" and '/data/${ID}/page.png'`, `"${HANDLE}" and '${HANDLE}'`],
    ['in a Markdown link', `[page](/data/${ID}/page.png)`, `[page](${HANDLE})`],
    ['of another system', `C:\\data\\${ID}\\page.png`, HANDLE],
    ['the folder alone', `in /data/${ID}`, `in ${HANDLE}`],
    ['beside the file', `/data/${ID}/page.tmp`, HANDLE],
    ['with more separators', `/data//shared/./${ID}/./page.png`, HANDLE],
    ['in upper case', `C:\\DATA\\${ID.toUpperCase()}\\PAGE.PNG`, HANDLE],
    ['escaped as a whole', `%2Fdata%2F${ID}%2Fpage.png`, HANDLE],
    ['escaped twice', `file:%252F%252Fdata%252F${ID}%252Fpage.png`, HANDLE],
    ['with escaped letters', `/data/${escaped('%')}/page.png`, HANDLE],
    ['in JSON within the text', `{"at":"\\/data\\/${escaped('\\u00')}\\/page.png"}`, `{"at":"${HANDLE}"}`],
    ['after other digits', `/data/abc${ID}/page.png`, HANDLE],
    ['of many names', `/data${'/./'.repeat(3_000)}${ID}${'/./'.repeat(3_000)}page.png`, HANDLE],
    ['beside its handle', `${HANDLE} /data/${ID}/page.png`, `${HANDLE} ${HANDLE}`],
    ['twice', `/a/${ID}/x /b/${ID}/y`, `${HANDLE} ${HANDLE}`],
  ])('%s', (_form, text, said) => {
    expect(renaming([BELOW])(text)).toBe(said);
  });

  test('of several, the longer one counts', () => {
    const names: PathName[] = [
      { id: ID, rest: 'out/assets/a b.css', handle: 'H2' },
      { id: ID, rest: 'out/index.html', handle: 'H1' },
      { id: ID, rest: undefined, handle: '(folder)' },
    ];
    const text = `/d/${ID}/out/index.html /d/${ID}/out/index.html5 /d/${ID}/out/assets/a%20b.css /d/${ID}/out`;
    expect(renaming(names)(text)).toBe('H1 (folder) H2 (folder)');
  });
});

test('the files of a folder are known in every form of their names', () => {
  const names: PathName[] = [
    { id: ID, rest: 'out/C#.txt', handle: 'sharp' },
    { id: ID, rest: 'out/C', handle: 'C' },
    { id: ID, rest: 'out/a b', handle: 'short' },
    { id: ID, rest: 'out/a b c', handle: 'long' },
    { id: ID, rest: undefined, handle: '(folder)' },
  ];
  const text = ['out/C#.txt', 'out/C#L1', '/out/./C', 'out\\C', 'out%2FC', 'out/a b', 'out/a b c', 'out/x'].map(
    (rest) => `<d/${ID}/${rest}>`,
  );
  expect(renaming(names)(text.join(' '))).toBe('<sharp> <C#L1> <C> <C> <C> <short> <long> <(folder)>');
});

describe('the folder of a session', () => {
  const renamed = renaming([{ session: SESSION, handle: '(folder)' }, BELOW]);

  test.each([
    ['alone', `in /data/sessions/${SESSION}, it is`, 'in (folder), it is'],
    ['with another file', `/data/sessions/${SESSION}/${'1'.repeat(32)}/x`, '(folder)'],
    ['above a file', `/data/sessions/${SESSION}/${ID}/x`, HANDLE],
    ['again and again above a file', `/d/${SESSION}/../${SESSION}/${ID}/x /d/${SESSION}`, `${HANDLE} (folder)`],
    ['of somebody else', `/data/artifacts/sessions/${'2'.repeat(32)}/${'1'.repeat(32)}/x`, '(folder)'],
    ['of another server', `/data/uploads/a%2Fb//sessions/./${'2'.repeat(32)} and`, '(folder) and'],
    ['of somebody else, escaped', `%2Fdata%2Fartifacts%2Fsessions%2F${'2'.repeat(32)}%2Fx`, '(folder)'],
    ['of another program', `/data/sessions/${'2'.repeat(32)}/x`, `/data/sessions/${'2'.repeat(32)}/x`],
    ['in a handle', `artifact://sessions/${SESSION}/${ID}/x`, `artifact://sessions/${SESSION}/${ID}/x`],
    [
      'in a URL of the client',
      `http://host/artifacts/up/${SESSION}/1?a=b`,
      `http://host/artifacts/up/${SESSION}/1?a=b`,
    ],
  ])('%s', (_form, text, said) => {
    expect(renamed(text)).toBe(said);
  });
});

test('a message that belongs to no call names no folder of a session, whosever it is', () => {
  const said = {
    own: `/d/sessions/${SESSION}/${ID}/x`,
    of: `/d/uploads/sessions/${'2'.repeat(32)}/${ID}/x y`,
    at: '/d/x',
  };
  const message = JSON.stringify({ method: 'notifications/message', params: { data: said } });
  const shown = { own: '(folder)', of: '(folder) y', at: '/d/x' };
  expect(JSON.parse(withoutPaths(message, SESSION))).toMatchObject({ params: { data: shown } });
});

describe('a path as the tool wrote it', () => {
  test.each([
    ['a link', '[Snapshot](page.yml)', '[Snapshot](H)'],
    ['a link with a place', '(page.yml#L1)', '(H#L1)'],
    [
      'a part of another name',
      'my-page.yml page.yml2 x/page.yml page.yml/x',
      'my-page.yml page.yml2 x/page.yml page.yml/x',
    ],
    ['at the end', 'page.yml', 'H'],
  ])('%s', (_form, text, said) => {
    expect(renaming([{ text: 'page.yml', handle: 'H' }])(text)).toBe(said);
  });
});

describe('a message', () => {
  const all = (text: string) => ({ start: 0, end: text.length });

  test('keeps every byte but those of paths', () => {
    const message = `{ "a":1e400,"b":["/x/${ID}/y","\\u00e9 \\/x\\/${ID}\\/y"], "c" : "x" }`;
    expect(withHandles(message, all(message), [BELOW])).toBe(
      `{ "a":1e400,"b":["${HANDLE}","é ${HANDLE}"], "c" : "x" }`,
    );
  });

  test('is the same text where it names nothing', () => {
    const message = '{"a":"b"}';
    expect(withHandles(message, all(message), [BELOW])).toBe(message);
  });

  test('is changed only where it is to be', () => {
    const message = `{"id":"/x/${ID}/y","result":{"t":"/x/${ID}/y"}}`;
    const start = message.indexOf('{"t"');
    const renamed = withHandles(message, { start, end: message.length - 1 }, [BELOW]);
    expect(renamed).toBe(`{"id":"/x/${ID}/y","result":{"t":"${HANDLE}"}}`);
  });

  test('may be escaped in any way', () => {
    const message = `{"\\u002fx\\/${escaped('\\u00')}\\/y":1}`;
    expect(withHandles(message, all(message), [BELOW])).toBe(`{"${HANDLE}":1}`);
  });

  test.each([
    ['one path', `/x/${`${ID}/`.repeat(30_000)}`],
    ['places in a file', `/x/${ID}/a#`.repeat(25_000)],
    ['other places', `/x/${ID}/b#`.repeat(25_000)],
    ['sessions', `/x/${SESSION}`.repeat(25_000)],
    ['sessions above a file', `/x/${`${SESSION}/`.repeat(30_000)}${ID}/a`],
    ['digits', 'a'.repeat(1 << 20)],
    ['almost escapes', `${'%25'.repeat(1 << 18)}${'\\'.repeat(1 << 18)}`],
  ])('of a megabyte of %s takes no longer than its length', (_form, text) => {
    const message = JSON.stringify({ t: text });
    const rests = Array.from({ length: 100 }, (_, number): PathName => ({
      id: ID,
      rest: `c d ${number}`,
      handle: 'H',
    }));
    const names: PathName[] = [
      ...rests,
      { id: ID, rest: 'a', handle: 'A' },
      BELOW,
      { session: SESSION, handle: '(folder)' },
    ];
    const began = process.threadCpuUsage();
    const renamed = withHandles(message, all(message), names);
    expect(process.threadCpuUsage(began).user / 1_000).toBeLessThan(1_000);
    expect([renamed.includes(ID), renamed.includes(SESSION)]).toEqual([false, false]);
  });

  test('of a megabyte of paths takes no longer than its length', () => {
    const message = JSON.stringify({ t: `/x/${ID}/${'a'.repeat(100)}\n`.repeat(8_000) });
    const began = process.threadCpuUsage();
    const renamed = withHandles(message, all(message), [BELOW]);
    expect(renamed).not.toContain(ID);
    expect(process.threadCpuUsage(began).user / 1_000).toBeLessThan(1_000);
  });
});
