import { appendFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { asObject } from '../../support/scripted-upstream/json-rpc.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../../support/scripted-upstream/scripted-upstream.ts';
import { readResource } from '../files/kit/artifacts.ts';
import { type Deployment, mounted, startDeployment } from '../kit/deployment.ts';
import { EventReader, isResponse } from '../kit/events.ts';
import { type Door, openSession } from '../kit/session.ts';
import { oneOf, problemsOf, saidBy } from './kit/roles.ts';

const ROLES = [{ type: 'files', tools: ['make', 'change'], arguments: { path: { role: 'edit', create: true } } }];
let upstream: ScriptedUpstream;
let deployment: Deployment;

beforeAll(async () => {
  upstream = await startScriptedUpstream({ eventIds: true, retryMs: 50, answers: 'sse' });
  const inputSchema = { type: 'object', properties: { path: { type: 'string' } } };
  for (const name of ['make', 'change']) {
    upstream.tools.set(name, {
      definition: { inputSchema },
      async call(scripted) {
        const { path, key } = scripted.arguments;
        if (typeof key === 'string') {
          scripted.stream().detach();
          await scripted.released(key);
        }
        await appendFile(String(path), `${String(key)}\n`);
        return { content: [{ type: 'text', text: `changed ${String(path)}` }] };
      },
    });
  }
  deployment = await startDeployment({ config: { servers: [mounted('up', upstream.url, { adapters: ROLES })] } });
});
afterAll(async () => {
  await deployment?.close();
  await upstream?.close();
});

/** A call that the server detaches, and the stream on which its response is waited for at the other replica. */
async function detached(at: Door, other: Door, args: object): Promise<EventReader> {
  const call = new EventReader(await at.request('tools/call', { name: 'change', arguments: args }));
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
