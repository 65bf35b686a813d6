import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunningAdapter } from '../../support/adapter-process.ts';
import { loopGaps, WATCHED } from '../../support/loop-gaps.ts';
import { asObject, type JsonObject } from '../../support/scripted-upstream/json-rpc.ts';
import { readResource } from '../files/kit/artifacts.ts';
import { type Crew, startCrew } from '../files/kit/crew.ts';
import { lying, sharedFolder } from '../files/kit/folder.ts';
import { uploaded } from '../files/kit/uploads.ts';
import { mounted } from '../kit/deployment.ts';
import { type Door, openSession, type Session } from '../kit/session.ts';
import { noPathIn, plain } from './kit/no-path.ts';
import { downloaded, madeBy, oneOf, problemsOf, ROLES, saidBy, textFile } from './kit/roles.ts';

const MAX_SIZE = 4_000_000;
const LONG = 1 << 20;
const OUT = { output_path: 'out' };
let crew: Crew;
let turn = 0;
let running: AsyncDisposableStack | undefined;
const next = (): RunningAdapter => crew.at((turn += 1));

beforeAll(async () => {
  await using opened = new AsyncDisposableStack();
  const folder = opened.use(await sharedFolder());
  const browser = join(folder.path, 'browser');
  await mkdir(browser);
  const tell = (role: string): JsonObject => ({ type: 'files', tools: ['tell'], arguments: { path: role } });
  const more: JsonObject[] = [
    { type: 'files', tools: ['leave', 'write_elsewhere', 'name_path'], arguments: OUT },
    { type: 'files', tools: ['write_later'], arguments: { path: 'out' } },
  ];
  const found = {
    type: 'files',
    tools: ['snapshot', 'name_path'],
    found: [{ pattern: String.raw`\[Snapshot\]\(([^)#]+)`, relative_to: browser }],
  };
  crew = await startCrew({
    replicas: 2,
    env: WATCHED,
    root: folder.path,
    config: { storage: { max_size: MAX_SIZE } },
    servers: (url) => [
      mounted('up', url, { adapters: [...ROLES, ...more] }),
      mounted('found', url, { adapters: [found, ...ROLES] }),
      ...['in', 'edit', 'out', 'out_dir'].map((role) => mounted(role, url, { adapters: [tell(role), ...ROLES] })),
    ],
  });
  opened.use(crew);
  running = opened.move();
});
afterAll(() => running?.disposeAsync());

/** Does something while others are answered: nothing takes the program a second at a time, whatever else the machine does. */
async function answering<T>(replica: RunningAdapter, work: () => Promise<T>): Promise<T> {
  await loopGaps(replica);
  const [done, alive] = await Promise.all([work(), fetch(`${replica.url}/livez`)]);
  expect(alive.status).toBe(200);
  expect((await loopGaps(replica)).busy).toBeLessThan(1_000);
  return done;
}

/** Neither a path of the storage nor an id of a session, but in handles. */
const expectNoPath = (message: JsonObject, ...sessions: readonly Session[]): void =>
  noPathIn(message, crew.root, ...sessions);

const ended = async (session: Session): Promise<void> => {
  expect((await session.at(next()).end()).status).toBe(200);
  await expect
    .poll(async () => (await lying(crew.root)).filter(({ path }) => path.includes(session.sessionId)))
    .toEqual([]);
};

describe.each(['in', 'edit', 'out', 'out_dir'])('a path that a tool was given as %s', (role) => {
  test.each(['result', 'error', 'failure'])('does not reach the client in a %s, however it is written', async (how) => {
    const session = await openSession(next(), { path: `/mcp/${role}` });
    const door = session.at(next());
    const isRead = role === 'in' || role === 'edit';
    const path = isRead ? await textFile(door, 'mine\n') : 'name.txt';
    const message = await door.tool('tell', { path, how });
    // All forms of the path are there, as something else.
    expect(saidBy(message).split('\n').length).toBeGreaterThanOrEqual(45);
    if (isRead) expect(saidBy(message)).toContain(`[x](${path})`);
    expectNoPath(message, session);
    await ended(session);
  });
});

test('a megabyte of paths keeps nobody waiting, and none of them reaches the client', async () => {
  const session = await openSession(next(), { path: '/mcp/edit' });
  const place = next();
  const path = await textFile(session.at(place), 'mine\n');
  const message = await answering(place, () => session.at(place).tool('tell', { path, how: 'result', many: 60 }));
  expect(JSON.stringify(message).length).toBeGreaterThan(100_000);
  expectNoPath(message, session);
  await ended(session);
});

test.each(['symlink', 'hardlink', 'fifo', 'device', 'folder'])(
  'a %s in the place of an output is not kept',
  async (what) => {
    const session = await openSession(next());
    const target = join(crew.root, 'browser', `secret of ${what}`);
    await writeFile(target, 'secret');
    const message = await session.at(next()).tool('leave', { output_path: 'x.bin', what, target });
    expect(problemsOf(message)).toMatchObject([{ code: 'artifact_not_captured' }]);
    expectNoPath(message, session);
    await ended(session);
  },
);

describe('a file that the tool names but has not made for this call', () => {
  test.each(['structured', 'text'])('in its %s', async (says) => {
    const [session, other] = [await openSession(next()), await openSession(next())];
    const door = session.at(next());
    await textFile(door, 'of another call\n', 'mine.txt');
    await textFile(other.at(next()), 'of another session\n', 'theirs.txt');
    await uploaded(crew.at(0), session.sessionId, [{ name: 'up.txt', bytes: Buffer.from('uploaded\n') }]);
    const there = (await lying(crew.root)).filter(({ path }) => /(?:mine|theirs|up)\.txt$/.test(path));
    expect(there.length).toBeGreaterThanOrEqual(3);
    for (const { path } of there) {
      const message = await door.tool('name_path', { output_path: 'x.txt', path: join(crew.root, path), says });
      expect(problemsOf(message)).toMatchObject([{ code: 'artifact_not_captured' }]);
      expect(asObject(asObject(message['result'])['_meta'])['artifact']).toBeUndefined();
      expectNoPath(message, session, other);
    }
    await Promise.all([ended(session), ended(other)]);
  });

  test('by way of a folder that it may be taken from', async () => {
    const [session, other] = [await openSession(next(), { path: '/mcp/found' }), await openSession(next())];
    await textFile(other.at(next()), 'of another session\n', 'theirs.txt');
    const theirs = (await lying(crew.root)).find(({ path }) => path.includes(other.sessionId));
    for (const path of [
      `../${theirs?.path}`,
      join(crew.root, String(theirs?.path)),
      '/etc/passwd',
      '../../../etc/passwd',
    ]) {
      const message = await session.at(next()).tool('name_path', { text: `[Snapshot](${path})` });
      expect(problemsOf(message)).toMatchObject([{ detail: expect.stringContaining('was not taken') }]);
      expect(asObject(asObject(message['result'])['_meta'])['artifact']).toBeUndefined();
      // What stands around an id of ours goes with it; the folder alone is nothing that was handed out.
      expect(plain(message).replaceAll(/artifact:\/sessions\/\w+/g, '')).not.toContain(other.sessionId);
    }
    await Promise.all([ended(session), ended(other)]);
  });
});

test('what a tool writes into the folders of others is never given out', async () => {
  const [session, other] = [await openSession(next()), await openSession(next())];
  const theirs = other.at(next());
  const made = oneOf(await theirs.tool('write_text', { output_path: 'made.txt', text: 'made by a tool\n' }));
  const edited = await textFile(theirs, 'one\n', 'edited.txt');
  expect(oneOf(await theirs.tool('append_line', { path: edited, line: 'two' })).version).toBe(2);
  const [taken] = await uploaded(crew.at(0), other.sessionId, [{ name: 'up.txt', bytes: Buffer.from('uploaded\n') }]);
  const planted = await session.at(next()).tool('plant', { root: crew.root, spared: 'browser' });
  expect(saidBy(planted)).toMatch(/^planted \d\d/);
  for (const uri of [made.uri, edited]) {
    for (const place of [crew.at(0), crew.at(1)]) {
      expect(String(await readResource(other.at(place), uri))).toBe('undefined');
    }
  }
  expect(await downloaded(next(), made.url)).not.toContain('X');
  for (const path of [made.uri, edited, taken?.handle]) {
    const refused = await other.at(next()).tool('read_lines', { path });
    expect(refused).toMatchObject({ result: { isError: true } });
    expect(JSON.stringify(refused)).not.toContain('XX');
  }
  await Promise.all([ended(session), ended(other)]);
});

test('what a tool writes after its answer is never given out, and goes with the session', async () => {
  const session = await openSession(next());
  const made = oneOf(
    await session.at(next()).tool('write_later', { path: 'late.txt', text: 'in time\n', after: 'late' }),
  );
  expect(String(await readResource(session.at(crew.at(0)), made.uri))).toBe('in time\n');
  await crew.tools.open('late');
  await crew.tools.arrived('late-done');
  for (const place of [crew.at(0), crew.at(1)]) {
    expect(['undefined', 'in time\n']).toContain(String(await readResource(session.at(place), made.uri)));
  }
  await ended(session);
});

test('of ten thousand files in a folder so many are kept as may be, and nobody else waits', async () => {
  const session = await openSession(next());
  const place = next();
  const args = { folder: 'big', files: 10_000 };
  const message = await answering(place, () => session.at(place).tool('make_report', args));
  expect(madeBy(message)).toHaveLength(5);
  expect(problemsOf(message)).toMatchObject([
    { code: 'artifact_limit', detail: expect.stringContaining('9995 files were not kept') },
  ]);
  expectNoPath(message, session);
  await ended(session);
});

describe('a name of a megabyte', () => {
  test.each([
    ['to read', 'read_lines', 'path', `artifact://sessions/${'a'.repeat(LONG)}`, true],
    ['to read, without a handle', 'read_lines', 'path', `/${'a/'.repeat(LONG / 2)}`, true],
    ['to write', 'write_text', 'output_path', `a${'_'.repeat(LONG)}x.txt`, false],
    ['to change', 'append_line', 'path', `${'/.'.repeat(LONG / 2)}${'.'.repeat(LONG / 2)}x`, false],
    ['of a folder', 'make_report', 'folder', `a${'_'.repeat(LONG)}x`, false],
  ] as const)('%s', async (_what, tool, argument, name, isError) => {
    const session = await openSession(next());
    const place = next();
    const args = { text: 'text', line: 'line', [argument]: name };
    const message = await answering(place, () => session.at(place).tool(tool, args));
    expect(asObject(message['result'])['isError'] === true, JSON.stringify(message).slice(0, 500)).toBe(isError);
    expect(JSON.stringify(message).length).toBeLessThan(10_000);
    expectNoPath(message, session);
    await ended(session);
  });

  test('in a result', async () => {
    const session = await openSession(next(), { path: '/mcp/found' });
    const place = next();
    const text = `[Snapshot](/${'a/'.repeat(LONG / 2)}) [Snapshot](${'./'.repeat(1_000)}x)`;
    const message = await answering(place, () => session.at(place).tool('name_path', { text }));
    expect(saidBy(message)).toBe(text);
    await ended(session);
  });
});

test('a found file for which there is no room is told of, and the result stays', async () => {
  const session = await openSession(next(), { path: '/mcp/found' });
  const folder = join(crew.root, 'browser');
  const big = await session.at(next()).tool('write_file', { output_path: 'big.bin', size: MAX_SIZE - 10 });
  expect(madeBy(big)).toHaveLength(1);
  const name = `full-${'n'.repeat(100)}.txt`;
  const message = await session.at(next()).tool('snapshot', { folder, name, absolute: true });
  expect(problemsOf(message)).toMatchObject([{ code: 'storage_quota' }]);
  expect(saidBy(message)).toContain('### Page');
  expect(await readFile(join(folder, name), 'utf8')).toContain(name);
  await ended(session);
  // Once there is room, the same file is taken.
  const later = await openSession(next(), { path: '/mcp/found' });
  expect(madeBy(await later.at(next()).tool('snapshot', { folder, name, absolute: true }))).toHaveLength(1);
  await ended(later);
});

test('what was kept of a folder before the storage was full is told of, and no path of the rest', async () => {
  const session = await openSession(next());
  const door: Door = session.at(next());
  // Room for two of the five files, each of seven bytes.
  await door.tool('write_file', { output_path: 'big.bin', size: MAX_SIZE - 15 });
  const message = await door.tool('make_report', { folder: 'r', files: 5 });
  expect(madeBy(message)).toHaveLength(2);
  expect(problemsOf(message)).toMatchObject([{ code: 'storage_quota' }]);
  expectNoPath(message, session);
  await ended(session);
});

test('no output of a call for which there is no room is named by its path', async () => {
  const session = await openSession(next());
  const door = session.at(next());
  await door.tool('write_file', { output_path: 'big.bin', size: MAX_SIZE - 5 });
  const source = await textFile(door, 'x\n', 'y.txt');
  const message = await door.tool('copy_text', { source, destination: 'copy.txt', line: 'much more' });
  expect(message).toMatchObject({ result: { isError: true } });
  expectNoPath(message, session);
  await ended(session);
});
