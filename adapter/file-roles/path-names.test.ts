import { describe, expect, test } from 'vitest';

import { type PathName, renamedText, withHandles } from './path-names.ts';

const ID = '0123456789abcdef0123456789abcdef';
const HANDLE = 'artifact://sessions/s/f/page one.png';
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
    ['twice', `/a/${ID}/x /b/${ID}/y`, `${HANDLE} ${HANDLE}`],
  ])('%s', (_form, text, said) => {
    expect(renamedText(text, [BELOW])).toBe(said);
  });

  test('of several, the longer one counts', () => {
    const names: PathName[] = [
      { id: ID, rest: 'out/assets/a b.css', handle: 'H2' },
      { id: ID, rest: 'out/index.html', handle: 'H1' },
      { id: ID, rest: undefined, handle: '(folder)' },
    ];
    const text = `/d/${ID}/out/index.html /d/${ID}/out/index.html5 /d/${ID}/out/assets/a%20b.css /d/${ID}/out`;
    expect(renamedText(text, names)).toBe('H1 (folder) H2 (folder)');
  });
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
    expect(renamedText(text, [{ text: 'page.yml', handle: 'H' }])).toBe(said);
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

  test('of a megabyte of paths takes no longer than its length', () => {
    const message = JSON.stringify({ t: `/x/${ID}/${'a'.repeat(100)}\n`.repeat(8_000) });
    const began = performance.now();
    const renamed = withHandles(message, all(message), [BELOW]);
    expect(renamed).not.toContain(ID);
    expect(performance.now() - began).toBeLessThan(1_000);
  });
});
