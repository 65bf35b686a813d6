import { writeFile } from 'node:fs/promises';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';

import { type RawUpstream, startRawUpstream } from '../../support/raw-upstream.ts';
import { asObject, type JsonObject } from '../../support/scripted-upstream/json-rpc.ts';
import { lying } from '../files/kit/folder.ts';
import { type Deployment, mounted, startDeployment } from '../kit/deployment.ts';
import { asking, type Asking, type Family } from './kit/asking.ts';

const MODERN = '2026-07-28';
const EXTENSION = 'io.modelcontextprotocol/tasks';
const TOKENS = { anna: 'token-of-anna-for-tasks', bert: 'token-of-bert-for-tasks' };
const LONG = 'l'.repeat(20_000);

interface Task {
  readonly path: string;
  status: string;
}

/** A server whose calls are tasks, which end when a test says so; it gives any task to who knows its id. */
function taskServer() {
  const tasks = new Map<string, Task>();
  const handle = (method: string, params: JsonObject, isSessionless: boolean): JsonObject => {
    const taskId = String(params.taskId);
    const task = tasks.get(taskId);
    const capabilities = isSessionless
      ? { tools: {}, extensions: { [EXTENSION]: {} } }
      : { tools: {}, tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } };
    const serverInfo = { name: 'tasks', version: '1' };
    const result = { content: [{ type: 'text', text: LONG }] };
    switch (method) {
      case 'initialize':
        return { protocolVersion: '2025-11-25', capabilities, serverInfo };
      case 'server/discover':
        return { supportedVersions: [MODERN], capabilities, serverInfo, resultType: 'complete' };
      case 'tools/list':
        return { tools: [{ name: 'write', inputSchema: { type: 'object' } }], resultType: 'complete' };
      case 'tools/call': {
        const id = `task-${tasks.size}`;
        tasks.set(id, { path: String(asObject(params.arguments).path), status: 'working' });
        const made = { taskId: id, status: 'working', createdAt: new Date(0).toISOString(), pollInterval: 10 };
        return isSessionless ? { resultType: 'task', ...made, ttlMs: 60_000 } : { task: { ...made, ttl: 60_000 } };
      }
      case 'tasks/result':
        return result;
      case 'tasks/get': {
        const about = { taskId, status: task?.status, resultType: 'complete' };
        return isSessionless && task?.status === 'completed' ? { ...about, result } : about;
      }
      case 'tasks/cancel':
        if (task !== undefined) task.status = 'cancelled';
        return { taskId, status: 'cancelled' };
      default:
        return {};
    }
  };
  return { tasks, handle };
}

let server: ReturnType<typeof taskServer>;
let upstream: RawUpstream;
let deployment: Deployment;
beforeAll(async () => {
  server = taskServer();
  upstream = await startRawUpstream(({ method: verb, json, headers }, res) => {
    const { id, method, params } = asObject(json);
    if (verb !== 'POST' || id === undefined) return void res.writeHead(verb === 'POST' ? 202 : 405).end();
    const result = server.handle(String(method), asObject(params), headers['mcp-protocol-version'] === MODERN);
    res.writeHead(200, { 'content-type': 'application/json' });
    return void res.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  });
  const tokens = Object.entries(TOKENS).map(([name, token]) => ({ name, token }));
  const adapters = [{ type: 'artifact_producer', tools: ['write'], output_path_argument: 'path' }];
  const servers = [mounted('up', `${upstream.url}/mcp`, { adapters, results: { spill_over_chars: 1000 } })];
  deployment = await startDeployment({ config: { core: { auth: { enabled: true, tokens } }, servers } });
});
afterAll(async () => {
  await deployment?.close();
  await upstream?.close();
});

describe.each<Family>(['with a session', 'without a session'])('for a client %s', (family) => {
  const isSessionless = family === 'without a session';
  const clientOf = (name: keyof typeof TOKENS): Promise<Asking> => {
    const headers = { 'x-mcp-adapter-auth-token': TOKENS[name] };
    return asking(family, deployment.a, { headers, capabilities: { extensions: { [EXTENSION]: {} } } });
  };
  const make = async (client: Asking): Promise<string> => {
    const task = isSessionless ? {} : { task: { ttl: 60_000 } };
    const params = { name: 'write', arguments: { path: 'report.txt' }, ...task };
    const result = asObject((await client.call(deployment.a, 'tools/call', params)).result);
    return String((isSessionless ? result : asObject(result.task)).taskId);
  };
  const finish = async (taskId: string, text: string): Promise<void> => {
    const task = server.tasks.get(taskId);
    if (task === undefined) throw new Error(`no task ${taskId}`);
    await writeFile(task.path, text);
    task.status = 'completed';
  };
  const resultOf = async (client: Asking, place: Deployment['a'], taskId: string): Promise<JsonObject> => {
    const { result, error } = await client.call(place, isSessionless ? 'tasks/get' : 'tasks/result', { taskId });
    if (error !== undefined) throw new Error(JSON.stringify(error));
    return isSessionless ? asObject(asObject(result).result) : asObject(result);
  };
  const readText = async (client: Asking, place: Deployment['a'], uri: unknown): Promise<unknown> => {
    const { result } = await client.call(place, 'resources/read', { uri });
    return asObject((asObject(result).contents as unknown[] | undefined)?.[0]).text;
  };

  test('the file and the long text of a task are artifacts, the same whoever asks at whichever replica', async () => {
    const client = await clientOf('anna');
    const taskId = await make(client);
    expect(await client.call(deployment.b, 'tasks/get', { taskId })).toMatchObject({ result: { status: 'working' } });
    await finish(taskId, 'the report');
    const results = await Promise.all(
      [deployment.a, deployment.b, deployment.a, deployment.b].map((place) => resultOf(client, place, taskId)),
    );
    const files = new Set(
      results.map(({ content }) => {
        const links = (content as JsonObject[]).filter(({ type }) => type === 'resource_link');
        return links.find(({ name }) => name === 'report.txt')?.uri;
      }),
    );
    expect(files.size).toBe(1);
    const [file] = files;
    for (const place of [deployment.a, deployment.b]) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect(await readText(client, place, file)).toBe('the report');
    }
    for (const { content, _meta: meta } of results) {
      const [text] = content as JsonObject[];
      expect(String(text?.text)).toContain('characters left out');
      const { artifact_uri: uri } = asObject(asObject(meta).artifact);
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect(await readText(client, deployment.b, uri)).toBe(LONG);
    }
    const other = await clientOf('bert');
    await expect(resultOf(other, deployment.b, taskId)).rejects.toThrow('Unknown task');
    expect(await other.call(deployment.b, 'resources/read', { uri: file })).toHaveProperty('error');
  });

  test('a task that is cancelled, or has written nothing, leaves nothing', async () => {
    const client = await clientOf('anna');
    const before = (await lying(deployment.folder)).length;
    const cancelled = await make(client);
    await writeFile(server.tasks.get(cancelled)?.path ?? '', 'half');
    expect((await lying(deployment.folder)).length).toBe(before + 1);
    await client.call(deployment.b, 'tasks/cancel', { taskId: cancelled });
    expect((await lying(deployment.folder)).length).toBe(before);
    const empty = await make(client);
    const task = server.tasks.get(empty);
    if (task !== undefined) task.status = 'completed';
    const { _meta: meta } = await resultOf(client, deployment.b, empty);
    // The long text alone.
    expect(asObject(meta).artifact).toMatchObject({ filename: 'result.txt' });
    expect((await lying(deployment.folder)).length).toBe(before + 1);
  });
});

test('a client of SDK v2 gets the file of a task', async () => {
  const client = new Client({ name: 'e2e', version: '1.0.0' });
  const requestInit = { headers: { 'x-mcp-adapter-auth-token': TOKENS.anna } };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${deployment.balancer.url}/mcp/up`), { requestInit }),
  );
  const request = (method: string, params: JsonObject): Promise<JsonObject> =>
    client.request({ method, params }, z.record(z.string(), z.unknown()));
  const made = await request('tools/call', { name: 'write', arguments: {}, task: { ttl: 60_000 } });
  const { taskId } = asObject(made.task);
  await writeFile(server.tasks.get(String(taskId))?.path ?? '', 'by SDK v2');
  const { content } = await request('tasks/result', { taskId });
  const links = (content as JsonObject[]).filter(({ type }) => type === 'resource_link');
  const read = await Promise.all(links.map(({ uri }) => request('resources/read', { uri })));
  const texts = read.flatMap(({ contents }) => contents as JsonObject[]);
  expect(texts.map(({ text, blob }) => text ?? Buffer.from(String(blob), 'base64').toString())).toContain('by SDK v2');
  await client.close();
});
