import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningAdapter, startAdapter } from '../../support/adapter-process.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../../support/scripted-upstream/scripted-upstream.ts';
import { mounted } from '../kit/deployment.ts';
import { eventually } from '../kit/eventually.ts';
import { type Door, drain, initialize, knownSession, openSession, textOf } from '../kit/session.ts';
import { CODE_MODE, execute, failuresOf, valueOf } from './kit/code.ts';

const TOKEN = 'The-Token-1';
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

  test('is told that a second one at the same time is one too many', async () => {
    const said = await valueOf(
      await open(),
      `const first = call_tool('slow', { ms: 300 });
       let message;
       try { await call_tool('echo'); } catch (error) { message = error.message; }
       return [message, (await first).text, (await call_tool('echo', { a: 1 })).text];`,
    );
    expect(said).toEqual([expect.stringContaining('1 tool calls in flight'), 'done', '{"a":1}']);
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
