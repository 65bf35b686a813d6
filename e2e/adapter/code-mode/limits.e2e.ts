import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningAdapter, startAdapter } from '../../support/adapter-process.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../../support/scripted-upstream/scripted-upstream.ts';
import { mounted } from '../kit/deployment.ts';
import { eventually } from '../kit/eventually.ts';
import { type Door, drain, initialize, knownSession, openSession, textOf } from '../kit/session.ts';
import { CODE_MODE, execute, failuresOf, valueOf } from './kit/code.ts';
import { secret } from '../../support/secrets/secret.ts';

const TOKEN = secret('token of the clients');
const WITH_TOKEN = { headers: { 'x-mcp-adapter-auth-token': TOKEN } };
const SOON_MS = 10_000;

describe('code where one tool call at a time is allowed and a token is asked for', { timeout: 60_000 }, () => {
  let upstream: ScriptedUpstream;
  let adapter: RunningAdapter;

  beforeAll(async () => {
    upstream = await startScriptedUpstream();
    adapter = await startAdapter({
      config: {
        core: {
          max_start_wait_seconds: 0,
          log_level: 'info',
          upstream_ping: { enabled: false },
          shutdown_grace_seconds: 60,
          auth: { enabled: true, token: TOKEN },
        },
        sessions: { max_in_flight_per_session: 1 },
        state_persistence: { type: 'memory' },
        servers: [mounted('up', upstream.url, CODE_MODE)],
      },
    });
  });
  afterAll(async () => {
    adapter?.kill();
    await adapter?.exited;
    await upstream?.close();
  });

  const open = async (): Promise<Door> => (await openSession(adapter, WITH_TOKEN)).at(adapter);

  test('calls one tool after the other', async () => {
    expect(await valueOf(await open(), failuresOf(['echo', {}], ['echo', {}], ['slow', { ms: 1 }]))).toEqual([
      null,
      null,
      null,
    ]);
  });

  test('that calls several at the same time has them one after the other', async () => {
    const said = await valueOf(
      await open(),
      `const ended = [];
       const call = async (name, args) => { const { text } = await call_tool(name, args); ended.push(text); };
       await Promise.all([call('slow', { ms: 300 }), call('echo', { a: 1 }), call('echo', { a: 2 })]);
       return ended;`,
    );
    expect(said).toEqual(['done', '{"a":1}', '{"a":2}']);
  });

  test('leaves a line in the log for each call, and one for itself', async () => {
    const session = await openSession(adapter, WITH_TOKEN);
    await execute(session.at(adapter), `await call_tool('echo', {}); await call_tool('fail-as-nobody', {});`);
    const lines = (): Record<string, unknown>[] =>
      adapter.logs().filter(({ session: of }) => of === session.sessionId.slice(0, 8));
    await eventually(async () => lines().some(({ tool }) => tool === 'up_execute')).toBe(true);
    const outer = lines().find(({ tool }) => tool === 'up_execute');
    expect(outer).toMatchObject({ msg: 'request', outcome: 'answered', reason: 'error' });
    const line = { level: 'info', request_id: outer?.['request_id'], server_id: 'up', ms: expect.any(Number) };
    expect(lines().filter(({ msg }) => msg === 'call by code')).toMatchObject([
      { ...line, tool: 'echo', outcome: 'ok' },
      { ...line, tool: 'fail-as-nobody', outcome: 'failed' },
    ]);
  });

  test('takes the place of direct calls while it calls, and gives it back', async () => {
    const door = await open();
    const running = execute(door, `return (await call_tool('slow', { key: 'place' })).text;`);
    await upstream.waitForRequest(({ text }) => text.includes('"place"'));
    expect(await drain(door.request('tools/call', { name: 'echo' }))).toBe(429);
    upstream.release('place');
    expect(await running).toMatchObject({ text: 'done' });
    expect(textOf(await door.tool('echo', { a: 1 }))).toBe('{"a":1}');
  });

  test('belongs to who has the token', async () => {
    expect(await drain(initialize(adapter))).toBe(401);
    const session = await openSession(adapter, WITH_TOKEN);
    const stranger = knownSession(session.sessionId, '2025-11-25').at(adapter);
    const params = { name: 'up_execute', arguments: { code: 'return 1;' } };
    expect(await drain(stranger.request('tools/call', params))).toBe(401);
    expect(await valueOf(session.at(adapter), `return (await call_tool('echo', { a: 1 })).text;`)).toEqual({ a: 1 });
    const sent = upstream.requestsOf('tools/call').at(-1);
    expect(JSON.stringify(sent?.rawHeaders)).not.toContain(TOKEN);
  });

  // The last one: the adapter ends with it.
  test('goes on to its end when the adapter stops', async () => {
    const door = await open();
    const running = execute(
      door,
      `await call_tool('slow', { key: 'drain' });
       return (await call_tool('echo', { after: 'SIGTERM' })).text;`,
    );
    await upstream.waitForRequest(({ text }) => text.includes('"drain"'));
    adapter.kill('SIGTERM');
    await eventually(async () => drain(fetch(`${adapter.url}/readyz`))).toBe(503);
    upstream.release('drain');
    expect(await running).toMatchObject({ isError: false, text: '{"after":"SIGTERM"}' });
    expect(await adapter.exitsWithin(SOON_MS)).toEqual({ code: 0, signal: null });
    expect(adapter.stderr()).toBe('');
  });
});

test('code that runs when the time to stop is over is ended, and its client told', { timeout: 60_000 }, async () => {
  const upstream = await startScriptedUpstream();
  const adapter = await startAdapter({
    config: {
      core: { max_start_wait_seconds: 0, upstream_ping: { enabled: false }, shutdown_grace_seconds: 1 },
      state_persistence: { type: 'memory' },
      servers: [mounted('up', upstream.url, CODE_MODE)],
    },
  });
  try {
    const door = (await openSession(adapter)).at(adapter);
    const running = door.tool('up_execute', { code: `for (;;) await call_tool('slow', { ms: 50 });` });
    await upstream.waitForRequest(({ text }) => text.includes('"slow"'));
    adapter.kill('SIGTERM');
    expect(await running).toMatchObject({ error: { code: 503, data: { code: 'draining' } } });
    expect(await adapter.exitsWithin(SOON_MS)).toEqual({ code: 0, signal: null });
    expect(adapter.stderr()).toBe('');
  } finally {
    adapter.kill();
    await adapter.exited;
    await upstream.close();
  }
});
