import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { effectiveServer } from '../../crds/config/adapter-file/effective-server.ts';
import { load } from '../../crds/config/testing/adapter-config.ts';
import { disabledTools } from '../catalog/disabled-tools.ts';
import { SANDBOX_LIMITS } from '../code-mode/sandbox/sandbox-limits.ts';
import type { Sandbox, SandboxOutcome } from '../code-mode/sandbox/sandbox.ts';
import type { ControlMessage } from '../state/message-bus.ts';
import { answerResult, type HttpUpstream, startHttpUpstream } from '../upstream/testing/http-upstream.ts';
import { withCodeMode } from '../code-mode/code-mode.ts';
import { type GatewayServer, startGatewayServer } from './testing/gateway-server.ts';
import { sampleCaches } from '../testing/sample-caches.ts';

const REVISION = '2025-11-25';

let upstream: HttpUpstream;
let server: GatewayServer;
/** Code runs until it is told to end. */
let begun: PromiseWithResolvers<AbortSignal>;

beforeEach(async () => {
  begun = Promise.withResolvers();
  upstream = await startHttpUpstream((request, res) => {
    answerResult(request, res, { protocolVersion: REVISION, capabilities: { tools: {} } });
  });
  const run: Sandbox['run'] = ({ signal }) =>
    new Promise<SandboxOutcome>((resolve) => {
      const ended = { kind: 'failed', reason: 'aborted', message: 'aborted', console: '', calls: 0 } as const;
      signal.addEventListener('abort', () => resolve(ended));
      begun.resolve(signal);
    });
  const sandbox = { limits: SANDBOX_LIMITS, run } as unknown as Sandbox;
  const config = load({ servers: [{ id: 's1', mount_path: '/s1', upstream: { url: upstream.origin } }] });
  const effective = effectiveServer(config, config.servers[0] as (typeof config.servers)[number]);
  const nothing = { steps: new Map<string, never>(), transforms: new Map(), own: [], resources: undefined };
  server = await startGatewayServer(upstream.origin, { upstream_ping: { enabled: false } }, (gateway) =>
    withCodeMode(effective, nothing, {
      disabled: disabledTools([]),
      caches: sampleCaches(),
      sandbox,
      callTool: (...call) =>
        gateway()
          .memory('s1')
          .call(...call),
    }),
  );
});
afterEach(async () => {
  expect(server.unexpected).toEqual([]);
  await server[Symbol.asyncDispose]();
  await upstream.close();
});

async function post(message: object, sessionId?: string, signal?: AbortSignal): Promise<Response> {
  const own = sessionId === undefined ? {} : { 'mcp-session-id': sessionId };
  const headers = { 'content-type': 'application/json', ...own };
  const body = JSON.stringify({ jsonrpc: '2.0', ...message });
  return fetch(server.url, { method: 'POST', headers, body, signal: signal ?? null });
}
async function open(): Promise<string> {
  const clientInfo = { name: 'c', version: '1' };
  const params = { protocolVersion: REVISION, capabilities: {}, clientInfo };
  const opened = await post({ id: 0, method: 'initialize', params });
  await opened.text();
  return opened.headers.get('mcp-session-id') ?? '';
}
const EXECUTE = { id: 'x', method: 'tools/call', params: { name: 's1_execute', arguments: { code: 'x' } } };

type Act = (sessionId: string, client: AbortController) => ControlMessage | void;

describe('code that runs', () => {
  test.each<[string, Act, string]>([
    [
      'it is cancelled',
      (sessionId) => ({ type: 'cancelled', serverId: 's1', sessionId, requestId: '"x"' }),
      'cancelled',
    ],
    ['its session ends', (sessionId) => ({ type: 'session-ended', serverId: 's1', sessionId }), 'session_ended'],
    ['its client goes', (_sessionId, client) => client.abort(), 'cancelled'],
  ])('ends when %s', async (_when, act, code) => {
    const sessionId = await open();
    const client = new AbortController();
    const answered = post(EXECUTE, sessionId, client.signal).then(
      (response) => response.json(),
      (error: Error) => error.name,
    );
    const signal = await begun.promise;
    // These are of others.
    await server.bus.publish({ type: 'cancelled', serverId: 's1', sessionId, requestId: '"y"' });
    await server.bus.publish({ type: 'cancelled', serverId: 's1', sessionId: 'other', requestId: '"x"' });
    await server.bus.publish({ type: 'session-ended', serverId: 'other', sessionId });
    expect(signal.aborted).toBe(false);
    const told = act(sessionId, client);
    if (told !== undefined) await server.bus.publish(told);
    await vi.waitFor(() => expect(signal.aborted).toBe(true));
    expect(signal.reason).toMatchObject({ code });
    expect(await answered).toEqual(
      told === undefined
        ? 'AbortError'
        : expect.objectContaining({ id: 'x', error: expect.objectContaining({ data: { code } }) }),
    );
  });
});

test('a mount has one caller of each kind', () => {
  expect(() => server.gateway.memory('s2')).toThrow('s2 is not mounted');
  expect(server.gateway.http(server.mount)).toBe(server.gateway.http(server.mount));
});
