import { appendFile, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { secret } from '../../support/secrets/secret.ts';
import { asObject, type JsonObject } from '../../support/scripted-upstream/json-rpc.ts';
import { lying, type SharedFolder, sharedFolder } from '../files/kit/folder.ts';
import { type Deployment, mounted, startDeployment } from '../kit/deployment.ts';
import { asking, type Asking, type Family } from '../results/kit/asking.ts';
import { madeBy, oneOf, problemsOf, saidBy } from './kit/roles.ts';
import { EXTENSION, type ServedTask, startTaskServer, type TaskServer } from './kit/task-server.ts';

const TOKENS = { anna: secret('token of anna'), bert: secret('token of bert') };

let own: SharedFolder;
let server: TaskServer;
let deployment: Deployment;
beforeAll(async () => {
  own = await sharedFolder();
  server = await startTaskServer(['write', 'change', 'look', 'report', 'snapshot']);
  const tokens = Object.entries(TOKENS).map(([name, token]) => ({ name, token }));
  const adapters = [
    { type: 'files', tools: ['write'], arguments: { path: 'out' } },
    { type: 'files', tools: ['change'], arguments: { path: 'edit' } },
    { type: 'files', tools: ['look'], arguments: { path: 'in' } },
    { type: 'files', tools: ['report'], arguments: { path: 'out_dir' } },
    {
      type: 'files',
      tools: ['snapshot'],
      found: [{ pattern: String.raw`\(([^)]+)\)`, relative_to: own.path, take: 'move' }],
    },
  ];
  deployment = await startDeployment({
    config: { core: { auth: { enabled: true, tokens } }, servers: [mounted('up', server.url, { adapters })] },
  });
});
afterAll(async () => {
  await deployment?.close();
  await server?.[Symbol.asyncDispose]();
  await own?.[Symbol.asyncDispose]();
});

describe.each<Family>(['with a session', 'without a session'])('for a client %s', (family) => {
  const isSessionless = family === 'without a session';
  let client: Asking;
  let turn = 0;
  /** Another replica each time. */
  const next = (): Deployment['a'] => ((turn += 1) % 2 === 0 ? deployment.a : deployment.b);

  const clientOf = (name: keyof typeof TOKENS): Promise<Asking> =>
    asking(family, next(), {
      headers: { 'x-mcp-adapter-auth-token': TOKENS[name] },
      capabilities: { extensions: { [EXTENSION]: {} } },
    });
  beforeAll(async () => {
    client = await clientOf('anna');
  });

  /** Begins a task. */
  async function begin(tool: string, path = 'x'): Promise<{ taskId: string; task: ServedTask; path: string }> {
    const params = { name: tool, arguments: { path }, ...(isSessionless ? {} : { task: { ttl: 60_000 } }) };
    const message = await client.call(next(), 'tools/call', params);
    const result = asObject(message['result']);
    const taskId = String((isSessionless ? result : asObject(result['task']))['taskId']);
    const task = server.tasks.get(taskId);
    if (task === undefined) throw new Error(`no task: ${JSON.stringify(message)}`);
    expect(JSON.stringify(message)).not.toContain(deployment.folder);
    return { taskId, task, path: String(task.args['path']) };
  }
  /** A message with the result of a task, as that of a call has it. */
  async function resultOf(taskId: string, at = next(), by = client): Promise<JsonObject> {
    const message = await by.call(at, isSessionless ? 'tasks/get' : 'tasks/result', { taskId });
    if (message['error'] !== undefined) throw new Error(JSON.stringify(message));
    expect(JSON.stringify(message)).not.toContain(deployment.folder);
    return isSessionless ? { result: asObject(message['result'])['result'] } : message;
  }
  async function readText(uri: unknown): Promise<unknown> {
    const { result } = await client.call(next(), 'resources/read', { uri });
    return asObject((asObject(result)['contents'] as unknown[] | undefined)?.[0])['text'];
  }
  /** A file that a task has written. */
  async function made(text: string): Promise<string> {
    const { taskId, task, path } = await begin('write', 'notes.txt');
    await writeFile(path, text);
    task.status = 'completed';
    return oneOf(await resultOf(taskId)).uri;
  }
  async function appended(uri: string, line: string): Promise<{ taskId: string; task: ServedTask; path: string }> {
    const begun = await begin('change', uri);
    await appendFile(begun.path, line);
    return begun;
  }

  test('what a task writes is an artifact, the same whoever asks at whichever replica', async () => {
    const { taskId, task, path } = await begin('write', 'report.txt');
    const working = await client.call(next(), 'tasks/get', { taskId });
    expect(asObject(working['result'])['statusMessage']).toBe('At report.txt');
    await writeFile(path, 'the report');
    task.status = 'completed';
    const results = await Promise.all([0, 1, 2, 3].map(() => resultOf(taskId)));
    const [first] = results.map(oneOf);
    for (const result of results) {
      expect(oneOf(result).uri).toBe(first?.uri);
      expect(saidBy(result)).toContain(String(first?.uri));
    }
    expect(await readText(first?.uri)).toBe('the report');
    const other = await clientOf('bert');
    await expect(resultOf(taskId, next(), other)).rejects.toThrow('Unknown task');
  });

  test('what a task changes is the next version, once, and reads so to who asks later', async () => {
    const uri = await made('one\n');
    const { taskId, task } = await appended(uri, 'two\n');
    expect(await readText(uri)).toBe('one\n');
    task.status = 'completed';
    expect(oneOf(await resultOf(taskId))).toMatchObject({ uri, version: 2 });
    const later = await appended(uri, 'three\n');
    later.task.status = 'completed';
    expect(oneOf(await resultOf(later.taskId))).toMatchObject({ uri, version: 3 });
    expect(oneOf(await resultOf(taskId))).toMatchObject({ uri, version: 2 });
    expect(await readText(uri)).toBe('one\ntwo\nthree\n');
  });

  test('of two tasks that change one file the first to be asked for wins, and the other is told', async () => {
    const uri = await made('one\n');
    const [first, second] = [await appended(uri, 'first\n'), await appended(uri, 'second\n')];
    expect(first.path).not.toBe(second.path);
    for (const { task } of [first, second]) task.status = 'completed';
    expect(oneOf(await resultOf(second.taskId))).toMatchObject({ uri, version: 2 });
    const results = [await resultOf(first.taskId), await resultOf(first.taskId)];
    for (const result of results) {
      expect(problemsOf(result)).toMatchObject([{ code: 'storage_busy' }]);
      expect(saidBy(result)).toContain(uri);
    }
    expect(await readText(uri)).toBe('one\nsecond\n');
  });

  test.each(['failed', 'cancelled'] as const)(
    'a task that is %s leaves the version before, and nothing on the volume',
    async (end) => {
      const uri = await made('one\n');
      const before = await lying(deployment.folder);
      const [changing, writing, looking] = [
        await appended(uri, 'lost\n'),
        await begin('write', 'lost.txt'),
        await begin('look', uri),
      ];
      await writeFile(writing.path, 'half');
      expect(await lying(deployment.folder)).toHaveLength(before.length + 3);
      for (const { taskId, task } of [changing, writing, looking]) {
        if (end === 'cancelled') await client.call(next(), 'tasks/cancel', { taskId });
        else task.status = end;
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        const told = await client.call(next(), 'tasks/get', { taskId });
        expect(JSON.stringify(told)).not.toContain(deployment.folder);
      }
      expect(await lying(deployment.folder)).toEqual(before);
      expect(await readText(uri)).toBe('one\n');
      // A tool that goes on all the same finds no place, and nobody else has it.
      await expect(appendFile(changing.path, 'late\n')).rejects.toThrow('ENOENT');
      const again = await appended(uri, 'two\n');
      expect(again.path === changing.path).toBe(end === 'failed');
      again.task.status = 'completed';
      expect(oneOf(await resultOf(again.taskId))).toMatchObject({ uri, version: 2 });
    },
  );

  test('a result that says what went wrong names handles, and keeps nothing', async () => {
    const uri = await made('one\n');
    const { taskId, task } = await appended(uri, 'half\n');
    const before = (await lying(deployment.folder)).length;
    Object.assign(task, { status: 'completed', isError: true });
    for (const result of [await resultOf(taskId), await resultOf(taskId)]) {
      expect([saidBy(result), asObject(result['result'])['_meta']]).toEqual([uri, undefined]);
    }
    expect(await lying(deployment.folder)).toHaveLength(before - 1);
    expect(await readText(uri)).toBe('one\n');
  });

  test('all files of a folder are kept once, and what a tool names itself', async () => {
    const report = await begin('report', 'report');
    await mkdir(join(report.path, 'deep'));
    await writeFile(join(report.path, 'a.txt'), 'A');
    await writeFile(join(report.path, 'deep/b.txt'), 'B');
    Object.assign(report.task, { status: 'completed', said: `See ${join(report.path, 'deep/b.txt')}` });
    const results = await Promise.all([0, 1].map(() => resultOf(report.taskId)));
    const uris = results.map((result) => madeBy(result).map(({ uri }) => uri));
    expect(uris[0]).toHaveLength(2);
    expect(uris[1]).toEqual(uris[0]);
    const b = madeBy(results[0] ?? {}).find(({ filename }) => filename === 'b.txt');
    for (const result of results) expect(saidBy(result)).toContain(`See ${b?.uri}`);
    expect(await readText(b?.uri)).toBe('B');

    const shot = await begin('snapshot');
    await writeFile(join(own.path, 'one.yml'), 'one');
    Object.assign(shot.task, { status: 'completed', said: 'See (one.yml)' });
    const [one, again] = [await resultOf(shot.taskId), await resultOf(shot.taskId)].map(oneOf);
    expect(again?.uri).toBe(one?.uri);
    expect(await readText(one?.uri)).toBe('one');
    expect(await readdir(own.path)).toEqual([]);
  });
});
