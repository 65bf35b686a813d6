import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readResource } from '../files/kit/artifacts.ts';
import { type Crew, startCrew } from '../files/kit/crew.ts';
import { lying } from '../files/kit/folder.ts';
import { uploaded } from '../files/kit/uploads.ts';
import { mounted } from '../kit/deployment.ts';
import { type Door, openSession, type Session } from '../kit/session.ts';
import { downloaded, madeBy, oneOf, problemsOf, ROLES, saidBy, textFile } from './kit/roles.ts';

describe.each([
  ['three replicas and Redis', 'redis', 3],
  ['SQLite', 'disk', 1],
] as const)('files that tools change, with %s,', (_name, state, replicas) => {
  let crew: Crew;
  let session: Session;
  let turn = 0;
  /** The session at another replica each time. */
  const next = (): Door => session.at(crew.at((turn += 1)));
  const append = (path: string, line: string, more: object = {}) => next().tool('append_line', { path, line, ...more });
  const read = async (uri: string): Promise<string> => String(await readResource(next(), uri));

  beforeAll(async () => {
    crew = await startCrew({
      replicas,
      state,
      servers: (url) => [
        mounted('up', url, { adapters: ROLES }),
        mounted('short', url, { adapters: ROLES, tool_defaults: { tool_call_timeout_seconds: 1 } }),
      ],
    });
    session = await openSession(crew.at(0));
  });
  afterAll(() => crew?.[Symbol.asyncDispose]());

  test('thirty changes in a row by the same handle are all there, and so are the last versions', async () => {
    const uri = await textFile(next(), 'start\n', 'log.txt');
    const lines = Array.from({ length: 30 }, (_, number) => `line ${number}`);
    let last;
    for (const [number, line] of lines.entries()) {
      last = oneOf(await append(uri, line));
      expect(last).toMatchObject({ uri, filename: 'log.txt', version: number + 2 });
    }
    const whole = ['start', ...lines, ''];
    expect(await read(uri)).toBe(whole.join('\n'));
    const { url = '' } = last ?? {};
    expect(await downloaded(crew.at(1), url)).toBe(whole.join('\n'));
    const before = whole.slice(0, -3);
    expect(await downloaded(crew.at(2), url, 29)).toBe([...before, ''].join('\n'));
    expect(await downloaded(crew.at(2), url, 26)).toBe([...before.slice(0, -3), ''].join('\n'));
    expect(await downloaded(crew.at(2), url, 25)).toBe('HTTP 404');
    expect(await downloaded(crew.at(2), url, 31)).toBe(whole.join('\n'));
    const here = (await lying(crew.root)).filter(({ path }) => path.endsWith('log.txt'));
    expect(here).toHaveLength(6);
  });

  test('an uploaded file becomes an artifact at its first change, its handle too, and the original stays', async () => {
    const file = { name: 'data.csv', bytes: Buffer.from('a,b\n') };
    const [taken] = await uploaded(crew.at(0), session.sessionId, [file]);
    const handle = taken?.handle ?? '';
    const made = oneOf(await append(handle, '1,2'));
    expect(made).toMatchObject({
      filename: 'data.csv',
      version: 2,
      uri: expect.stringMatching(/^artifact:/) as string,
    });
    expect(oneOf(await append(handle, '3,4'))).toMatchObject({ uri: made.uri, version: 3 });
    expect(oneOf(await append(made.uri, '5,6'))).toMatchObject({ uri: made.uri, version: 4 });
    expect(saidBy(await next().tool('read_lines', { path: handle }))).toContain('a,b\n1,2\n3,4\n5,6\n');
    for (let change = 0; change < 5; change += 1) await append(handle, '');
    expect(await downloaded(crew.at(1), made.url, 1)).toBe('a,b\n');
    expect(await downloaded(crew.at(1), made.url, 2)).toBe('HTTP 404');
  });

  test('a name makes a new file where the entry says so', async () => {
    const made = oneOf(await append('/tmp/new book.txt', 'first'));
    expect(made).toMatchObject({ filename: 'new_book.txt' });
    expect(await read(made.uri)).toBe('first\n');
  });

  test('no path of ours reaches the client', async () => {
    const uri = await textFile(next(), 'x\n');
    const said = saidBy(await append(uri, 'y'));
    expect(said).toContain(`Appended to ${uri}.`);
    expect(said).not.toContain(crew.root);
  });

  test('a change that fails leaves the version before, and its error names the handle', async () => {
    const uri = await textFile(next(), 'kept\n');
    const failed = await append(uri, 'lost', { fails: true });
    expect(failed).toMatchObject({ result: { isError: true } });
    expect(saidBy(failed)).toBe(`Appended to ${uri}.`);
    expect(await read(uri)).toBe('kept\n');
  });

  test('where a file is not made, the error has its name and no path', async () => {
    const failed = await append('new.txt', 'lost', { fails: true });
    expect(failed).toMatchObject({ result: { isError: true } });
    expect(saidBy(failed)).toBe('Appended to new.txt.');
  });

  test('whoever reads meanwhile has the last whole version, and who changes it waits', async () => {
    const uri = await textFile(next(), 'one\n');
    const slow = append(uri, 'two', { hold: `edit-${state}` });
    await crew.tools.arrived(`edit-${state}`);
    const waiting = append(uri, 'three');
    expect(await read(uri)).toBe('one\n');
    expect(saidBy(await next().tool('read_lines', { path: uri }))).toContain('one\n');
    await crew.tools.open(`edit-${state}`);
    expect([oneOf(await slow).version, oneOf(await waiting).version]).toEqual([2, 3]);
    expect(await read(uri)).toBe('one\ntwo\nthree\n');
  });

  test('twenty callers change one file at once, and no change is lost', async () => {
    const uri = await textFile(next(), '');
    const lines = Array.from({ length: 20 }, (_, number) => `${number}`);
    const versions = await Promise.all(lines.map(async (line) => oneOf(await append(uri, line)).version));
    expect(versions.toSorted((a, b) => Number(a) - Number(b))).toEqual(lines.map((_, number) => number + 2));
    expect((await read(uri)).trim().split('\n').toSorted()).toEqual(lines.toSorted());
  });

  const both = (first: string, second: string, line: string) => next().tool('append_to_both', { first, second, line });

  test('calls that change the same two files in opposite order do not wait for each other', async () => {
    const [a, b] = [await textFile(next(), ''), await textFile(next(), '')];
    const lines = Array.from({ length: 6 }, (_, number) => `${number}`);
    const changes = lines.map(async (line, index) =>
      madeBy(await (index % 2 === 0 ? both(a, b, line) : both(b, a, line))),
    );
    for (const made of await Promise.all(changes)) expect(made).toHaveLength(2);
    for (const uri of [a, b]) expect((await read(uri)).trim().split('\n').toSorted()).toEqual(lines);
  });

  test('a file that a call names twice is changed once, by whichever handles', async () => {
    const [taken] = await uploaded(crew.at(0), session.sessionId, [{ name: 'a.txt', bytes: Buffer.from('') }]);
    const handle = taken?.handle ?? '';
    const { uri } = oneOf(await append(handle, 'first'));
    expect(oneOf(await both(handle, uri, 'both'))).toMatchObject({ uri, version: 3 });
    expect(await read(uri)).toBe('first\nboth\nboth\n');
  });

  test('a tool that is still at it when its time is over changes nothing, then or later', async () => {
    const short = await openSession(crew.at(0), { path: '/mcp/short' });
    const add = (line: string, hold?: string) =>
      short.at(crew.at((turn += 1))).tool('append_line', { path: uri, line, ...(hold !== undefined && { hold }) });
    const uri = await textFile(short.at(crew.at(0)), 'before\n');
    const late = add('late', `late-${state}`);
    await crew.tools.arrived(`late-${state}`);
    expect(saidBy(await late)).toContain('did not finish within its limit of 1 seconds');
    expect(oneOf(await add('after')).version).toBe(2);
    await crew.tools.open(`late-${state}`);
    expect(oneOf(await add('again')).version).toBe(3);
    expect(String(await readResource(short.at(crew.at(0)), uri))).toBe('before\nafter\nagain\n');
  });

  test.each(['symlink', 'hardlink', 'fifo', 'folder', 'nothing'])(
    'a tool that leaves a %s leaves the version before',
    async (as) => {
      const uri = await textFile(next(), 'mine\n');
      const result = await next().tool('spoil', { path: uri, as });
      expect(problemsOf(result)).toMatchObject([{ code: 'artifact_not_captured' }]);
      expect(await read(uri)).toBe('mine\n');
      expect(oneOf(await append(uri, 'on')).version).toBe(2);
    },
  );

  test('what is no handle is refused, and so is the file of another session', async () => {
    const other = await openSession(crew.at(1));
    const theirs = await textFile(other.at(crew.at(1)), 'theirs\n');
    for (const path of [theirs, theirs.replace(/[0-9a-f]{32}\/notes/, `${'0'.repeat(32)}/notes`)]) {
      const refused = await next().tool('read_lines', { path });
      expect([asError(refused), saidBy(refused)]).toEqual([true, expect.stringContaining('is unknown or has expired')]);
    }
    const path = await next().tool('read_lines', { path: '/etc/passwd' });
    expect([asError(path), saidBy(path)]).toEqual([true, expect.stringContaining('takes handles of files')]);
  });

  test('nothing of a call stays behind, and nothing at all when the session has ended', async () => {
    const ending = await openSession(crew.at(0));
    const door = ending.at(crew.at(1));
    const uri = await textFile(door, 'x\n');
    await Promise.all([door.tool('append_line', { path: uri, line: 'a' }), door.tool('read_lines', { path: uri })]);
    const ours = async () => (await lying(crew.root)).filter(({ path }) => path.includes(ending.sessionId));
    // Both versions, and the copy that was read, which waits for the next call.
    await expect.poll(ours).toHaveLength(3);
    expect((await ending.at(crew.at(2)).end()).status).toBe(200);
    await expect.poll(ours).toEqual([]);
  });
});

const asError = (message: object): unknown => (message as { result?: { isError?: unknown } }).result?.isError;
