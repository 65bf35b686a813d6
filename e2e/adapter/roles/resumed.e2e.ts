import { appendFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { asObject } from '../../support/scripted-upstream/json-rpc.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../../support/scripted-upstream/scripted-upstream.ts';
import { readResource } from '../files/kit/artifacts.ts';
import { type Deployment, mounted, startDeployment } from '../kit/deployment.ts';
import { EventReader, isResponse } from '../kit/events.ts';
import { type Door, openSession } from '../kit/session.ts';
import { oneOf, problemsOf, saidBy } from './kit/roles.ts';

const ROLES = [
  { type: 'files', tools: ['make', 'change'], arguments: { path: { role: 'edit', create: true } } },
  { type: 'artifact_producer', tools: ['write'], output_path_argument: 'path' },
];
let upstream: ScriptedUpstream;
let deployment: Deployment;

beforeAll(async () => {
  upstream = await startScriptedUpstream({ eventIds: true, retryMs: 50, answers: 'sse' });
  const inputSchema = { type: 'object', properties: { path: { type: 'string' } } };
  for (const name of ['make', 'change', 'write']) {
    upstream.tools.set(name, {
      definition: { inputSchema },
      async call(scripted) {
        const { path, key, task } = scripted.arguments;
        if (typeof key === 'string') {
          scripted.stream().detach();
          await scripted.released(key);
        }
        await appendFile(String(path), `${String(key)}\n`);
        return typeof task === 'string'
          ? { task: { taskId: task, status: 'working', statusMessage: `At ${String(path)}`, ttl: 60_000 } }
          : { content: [{ type: 'text', text: `changed ${String(path)}` }] };
      },
    });
  }
  upstream.methods.set('tasks/result', () => ({ content: [{ type: 'text', text: 'ended' }] }));
  deployment = await startDeployment({ config: { servers: [mounted('up', upstream.url, { adapters: ROLES })] } });
});
afterAll(async () => {
  await deployment?.close();
  await upstream?.close();
});

/** A call that the server detaches, and the stream on which its response is waited for at the other replica. */
async function detached(at: Door, other: Door, args: object, name = 'change'): Promise<EventReader> {
  const call = new EventReader(await at.request('tools/call', { name, arguments: args }));
  expect(await call.rest()).toEqual([]);
  return new EventReader(await other.stream({ lastEventId: call.lastEventId }));
}

test('a change whose response comes on another stream is the next version', async () => {
  const session = await openSession(deployment.a);
  const [a, b] = [session.at(deployment.a), session.at(deployment.b)];
  const { uri } = oneOf(await a.tool('make', { path: 'notes.txt' }));
  const stream = await detached(a, b, { path: uri, key: 'late' });
  upstream.release('late');
  const message = await stream.message(isResponse);
  expect(oneOf(message)).toMatchObject({ uri, version: 2 });
  expect(saidBy(message)).toContain(`changed ${uri}`);
  expect(JSON.stringify(message)).not.toContain(deployment.folder);
  expect(String(await readResource(a, uri))).toBe('undefined\nlate\n');
});

test('whoever changes the file meanwhile wins, and the other is told', async () => {
  const session = await openSession(deployment.a);
  const [a, b] = [session.at(deployment.a), session.at(deployment.b)];
  const { uri } = oneOf(await a.tool('make', { path: 'notes.txt' }));
  const stream = await detached(a, b, { path: uri, key: 'second' });
  expect(oneOf(await b.tool('make', { path: uri }))).toMatchObject({ uri, version: 2 });
  upstream.release('second');
  const message = await stream.message(isResponse);
  expect(problemsOf(message)).toMatchObject([{ code: 'storage_busy' }]);
  expect(asObject(message['result'])['content']).toMatchObject([{ text: `changed ${uri}` }]);
  expect(String(await readResource(a, uri))).toBe('undefined\nundefined\n');
});

test.each(['change', 'write'])('a task of the tool %s that comes on another stream keeps its file', async (tool) => {
  const session = await openSession(deployment.a);
  const [a, b] = [session.at(deployment.a), session.at(deployment.b)];
  const { uri } = oneOf(await a.tool('make', { path: 'notes.txt' }));
  const path = tool === 'change' ? uri : 'new.txt';
  const stream = await detached(a, b, { path, key: `task-${tool}`, task: tool }, tool);
  upstream.release(`task-${tool}`);
  expect(asObject((await stream.message(isResponse))['result'])['task']).toMatchObject({ taskId: tool });
  const result = await a.call('tasks/result', { taskId: tool });
  const made = asObject(asObject(asObject(result['result'])['_meta'])['artifact']);
  expect(made).toMatchObject(tool === 'change' ? { artifact_uri: uri, version: 2 } : { filename: 'new.txt' });
  const text = String(await readResource(b, String(made['artifact_uri'])));
  expect(text).toBe(`${tool === 'change' ? 'undefined\n' : ''}task-${tool}\n`);
});
