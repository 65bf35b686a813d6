import { createServer } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { type RunningAdapter, startAdapter } from '../support/adapter-process.ts';
import { listen } from '../support/ports.ts';
import { asObject, type JsonObject } from '../support/scripted-upstream/json-rpc.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream/scripted-upstream.ts';
import { mounted } from './kit/deployment.ts';
import { eventually } from './kit/eventually.ts';
import { openSession } from './kit/session.ts';
import { type SseUpstream, startSseUpstream } from './kit/sse-upstream.ts';

const KNOWN_HOST = 'tools.example.com';
const WORDS = `Access is only allowed at ${KNOWN_HOST}`;

let upstream: ScriptedUpstream;
let older: SseUpstream;
beforeAll(async () => {
  [upstream, older] = await Promise.all([startScriptedUpstream(), startSseUpstream()]);
  upstream.behavior.intercept = ({ headers }) =>
    headers.host === KNOWN_HOST ? undefined : { status: 403, headers: { 'content-type': 'text/plain' }, body: WORDS };
});
afterAll(() => Promise.all([upstream?.close(), older?.close()]));

const start = (...servers: JsonObject[]): Promise<RunningAdapter> =>
  startAdapter({
    config: {
      core: { max_start_wait_seconds: 0, upstream_ping: { interval_seconds: 0.1 } },
      state_persistence: { type: 'memory' },
      servers,
    },
  });
const serverOf = async ({ url }: RunningAdapter, id: string): Promise<JsonObject> => {
  const { servers } = asObject(await (await fetch(`${url}/healthz`)).json());
  return (servers as unknown[]).map(asObject).find((one) => one.server_id === id) ?? {};
};

describe('a server that knows one host name only', () => {
  test('is no healthy server, and says why it refuses in errors too', async () => {
    await using adapter = await start(mounted('up', upstream.url));
    await eventually(async () => (await serverOf(adapter, 'up')).detail).toBe('upstream_refused');
    const { status, breaker, ping } = await serverOf(adapter, 'up');
    expect([status, asObject(breaker).state]).toEqual(['degraded', 'closed']);
    const why = `refused the host name ${new URL(upstream.url).host} (HTTP 403): "${WORDS}"`;
    expect(asObject(ping).refused).toContain(why);
    await expect(openSession(adapter)).rejects.toThrow(JSON.stringify(why).slice(1, -1));
  });

  test('is reached with upstream.host_header', async () => {
    await using adapter = await start(mounted('up', upstream.url, { upstream: { host_header: KNOWN_HOST } }));
    const session = await openSession(adapter);
    expect(await session.at(adapter).tool('echo', { a: 1 })).toMatchObject({
      result: { content: [{ text: '{"a":1}' }] },
    });
    await eventually(async () => (await serverOf(adapter, 'up')).status).toBe('ok');
  });
});

test('a server that refuses credentials says so in its own words, with what was sent', async () => {
  const server = createServer((_request, response) => {
    response.writeHead(401, { 'content-type': 'application/json' });
    response.end('{"error":"invalid_token","error_description":"The key has expired"}');
  });
  const url = `http://127.0.0.1:${await listen(server)}/mcp`;
  await using adapter = await start(mounted('up', url));
  await eventually(async () => (await serverOf(adapter, 'up')).detail).toBe('upstream_refused');
  const { ping } = await serverOf(adapter, 'up');
  expect(asObject(ping).refused).toBe(
    'The upstream server refused the adapter\'s credentials (HTTP 401): "The key has expired". Sent: x-upstream-key.',
  );
  server.close();
});

test('an address of the older transport is told so', async () => {
  await using adapter = await start(mounted('old', older.url));
  const lastError = async (): Promise<unknown> => asObject((await serverOf(adapter, 'old')).ping).last_error;
  await eventually(lastError).toContain('set upstream.transport to sse');
});
