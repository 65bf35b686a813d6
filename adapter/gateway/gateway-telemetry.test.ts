import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { effectiveServer } from '../../crds/config/adapter-file/effective-server.ts';
import { load } from '../../crds/config/testing/adapter-config.ts';
import { disabledTools } from '../catalog/disabled-tools.ts';
import { SANDBOX_LIMITS } from '../code-mode/sandbox/sandbox-limits.ts';
import type { Sandbox } from '../code-mode/sandbox/sandbox.ts';
import type { RequestObservation } from '../telemetry/telemetry.ts';
import { answerError, answerResult, type HttpUpstream, startHttpUpstream } from '../upstream/testing/http-upstream.ts';
import { type CallOfCode, withCodeMode } from '../code-mode/code-mode.ts';
import { type GatewayServer, startGatewayServer } from './testing/gateway-server.ts';
import { sampleCaches } from '../testing/sample-caches.ts';

const REVISION = '2025-11-25';
const ARGUMENTS = '{ "n":12345678901234567890 }';
const CALM = { upstream_ping: { enabled: false } };
/** Answers pass untouched. */
const PLAIN = { ...CALM, tool_metadata_sanitization: { mode: 'off' }, tool_definition_pinning: { mode: 'off' } };

let upstream: HttpUpstream;
let server: GatewayServer;
/** The revision that the upstream agrees on. */
let revision: string;

beforeEach(async () => {
  revision = REVISION;
  upstream = await startHttpUpstream((request, res) => {
    const { method, params } = request.message;
    if (method === 'initialize') answerResult(request, res, { protocolVersion: revision, capabilities: { tools: {} } });
    else if (Array.isArray(request.message)) {
      const asked = request.message as { id?: number | string; params?: { name: string } }[];
      const answers = asked.flatMap(({ id, params: { name } = { name: '' } }) => {
        const failed = { error: { code: -32602, message: 'no' } };
        const ended = name === 'refused' ? failed : { result: { isError: name === 'failing' } };
        return id === undefined ? [] : { jsonrpc: '2.0', id, ...ended };
      });
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answers));
    } else if (params?.['name'] === 'refused') answerError(request, res, 200, -32602, 'no');
    else if (params?.['name'] === 'silent') return;
    else if (request.method === 'GET' || request.message.id === undefined) res.writeHead(202).end();
    else answerResult(request, res, { content: [], ...(params?.['name'] === 'failing' && { isError: true }) });
  });
});
afterEach(async () => {
  expect(server.unexpected).toEqual([]);
  await server[Symbol.asyncDispose]();
  await upstream.close();
});

const start = async (
  config: Record<string, unknown> = CALM,
  additions?: Parameters<typeof startGatewayServer>[2],
): Promise<void> => {
  server = await startGatewayServer(`${upstream.origin}/mcp`, config, additions);
};

async function post(body: string, sessionId?: string): Promise<Response> {
  const headers: Record<string, string> = { 'content-type': 'application/json', 'mcp-protocol-version': REVISION };
  if (sessionId !== undefined) headers['mcp-session-id'] = sessionId;
  return fetch(server.url, { method: 'POST', headers, body });
}
async function open(): Promise<string> {
  const params = `{"protocolVersion":"${revision}","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`;
  const response = await post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":${params}}`);
  await response.text();
  return response.headers.get('mcp-session-id') ?? '';
}
const callOf = (name: string, id: number | string = 1): string =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":"tools/call","params":{"name":"${name}","arguments":${ARGUMENTS}}}`;
const call = async (name: string, sessionId: string): Promise<string> => (await post(callOf(name), sessionId)).text();
const observed = async (count: number): Promise<RequestObservation[]> => {
  await vi.waitFor(() => expect(server.telemetry.of('request')).toHaveLength(count));
  return server.telemetry.of('request');
};

describe('a tool call tells telemetry how it ended', () => {
  test.each([
    ['as it passes untouched', PLAIN],
    ['as it is looked at', CALM],
  ])('%s', async (_how, config) => {
    await start({ ...config, tool_defaults: { tool_call_timeout_seconds: 0.2 }, disabled_tools: ['hidden'] });
    const sessionId = await open();
    for (const name of ['fine', 'failing', 'refused', 'silent', 'hidden']) await call(name, sessionId);
    const [, ...calls] = await observed(6);
    const upstreamMs = expect.any(Number);
    expect(calls.map(({ attributes }) => attributes)).toEqual(
      [
        { tool: 'fine', outcome: 'ok', upstreamMs },
        { tool: 'failing', outcome: 'ok', failure: 'tool_error', upstreamMs },
        { tool: 'refused', outcome: 'ok', failure: -32602, upstreamMs },
        { tool: 'silent', outcome: 'timeout', upstreamMs },
        { tool: 'hidden', outcome: 'unknown_tool' },
      ].map((one) => ({
        requestId: expect.any(String),
        serverId: 's1',
        sessionId,
        rpcMethod: 'tools/call',
        protocolVersion: REVISION,
        argumentsHash: expect.any(String),
        ...one,
      })),
    );
    expect(new Set(calls.map(({ attributes }) => attributes.argumentsHash))).toEqual(new Set([`hash of ${ARGUMENTS}`]));
    expect(calls.map(({ serverId, route, status }) => `${serverId} ${route} ${status}`)).toEqual(
      Array.from({ length: 5 }, () => 's1 /s1 200'),
    );
    expect(calls[3]?.attributes.upstreamMs).toBeGreaterThan(150);
    await vi.waitFor(() => {
      expect(server.telemetry.of('upstreamCall')).toMatchObject([
        { method: 'notifications/cancelled', serverId: 's1' },
      ]);
    });
  });

  test('for each call of a batch', async () => {
    revision = '2025-03-26';
    await start(PLAIN);
    const sessionId = await open();
    const notification = '{"jsonrpc":"2.0","method":"notifications/progress"}';
    const calls = [callOf('fine', 1), notification, callOf('failing', 'x'), callOf('refused', 3)];
    await (await post(`[${calls.join(' ,')}]`, sessionId)).text();
    const [, { attributes } = {}] = await observed(2);
    const argumentsHash = `hash of ${ARGUMENTS}`;
    expect(attributes).toMatchObject({
      rpcMethod: 'batch',
      outcome: 'ok',
      calls: [
        { tool: 'fine', idText: '1', argumentsHash },
        { tool: 'failing', idText: '"x"', failure: 'tool_error', argumentsHash },
        { tool: 'refused', idText: '3', failure: -32602, argumentsHash },
      ],
    });
    expect([attributes?.calls?.[0]?.failure, attributes?.tool]).toEqual([undefined, undefined]);
  });

  test('when the adapter answers it itself', async () => {
    const result = (text: string) => ({
      needsHome: false,
      prepare: async () => ({ kind: 'result', result: text }) as const,
    });
    const steps = new Map([
      ['good', result('{"content":[]}')],
      ['bad', result('{"content":[],"isError":true}')],
    ]);
    await start(CALM, () => ({ steps, transforms: new Map(), own: [], resources: undefined }));
    const sessionId = await open();
    for (const name of ['good', 'bad']) await call(name, sessionId);
    const [, good, bad] = await observed(3);
    expect([good?.attributes, bad?.attributes]).toMatchObject([
      { outcome: 'answered', tool: 'good' },
      { outcome: 'answered', tool: 'bad', failure: 'tool_error' },
    ]);
    expect([good?.attributes.failure, good?.attributes.upstreamMs]).toEqual([undefined, undefined]);
  });

  test('when the upstream cannot be reached', async () => {
    await start();
    const sessionId = await open();
    await upstream.close();
    await call('fine', sessionId);
    const [, one] = await observed(2);
    expect(one).toMatchObject({ status: 502, attributes: { tool: 'fine', outcome: 'upstream_broke' } });
  });

  test('when code has made it', async () => {
    const told: CallOfCode[] = [];
    const run: Sandbox['run'] = async ({ callTool, signal }) => {
      for (const name of ['fine', 'failing', 'refused']) await callTool(name, { n: 1 }, signal).catch(() => '');
      return { kind: 'returned', value: undefined, console: '', calls: 3 };
    };
    const sandbox = { limits: SANDBOX_LIMITS, run } as unknown as Sandbox;
    const server_ = { id: 's1', mount_path: '/s1', upstream: { url: `${upstream.origin}/mcp` } };
    const config = load({ servers: [server_] });
    const effective = effectiveServer(config, config.servers[0] as (typeof config.servers)[number]);
    const nothing = { steps: new Map<string, never>(), transforms: new Map(), own: [], resources: undefined };
    await start(CALM, (gateway) =>
      withCodeMode(effective, nothing, {
        disabled: disabledTools(effective.disabled_tools),
        caches: sampleCaches(),
        sandbox,
        callTool: (...call) =>
          gateway()
            .memory('s1')
            .call(...call),
        onCall: (one) => told.push(one),
      }),
    );
    const sessionId = await open();
    const message = callOf('s1_execute').replace(ARGUMENTS, '{"code":"x"}');
    await (await post(message, sessionId)).text();
    const [, outer] = await observed(2);
    expect(outer?.attributes).toMatchObject({ tool: 's1_execute', outcome: 'answered' });
    const { requestId } = outer?.attributes ?? {};
    expect(told.map(({ attributes }) => attributes)).toEqual(
      [
        { tool: 'fine', outcome: 'ok' },
        { tool: 'failing', outcome: 'ok', failure: 'tool_error' },
        { tool: 'refused', outcome: 'ok', failure: -32602 },
      ].map((one) => ({
        requestId,
        serverId: 's1',
        sessionId,
        rpcMethod: 'tools/call',
        protocolVersion: REVISION,
        upstreamMs: expect.any(Number),
        argumentsHash: 'hash of {"n":1}',
        ...one,
      })),
    );
    expect(told.every(({ principal, bytesIn, ms }) => principal === '' && bytesIn > 90 && ms > 0)).toBe(true);
  });
});

test('sessions are told of when they open, and when they end how long they were', async () => {
  await start();
  const sessionId = await open();
  const headers = { 'mcp-session-id': sessionId };
  expect((await fetch(server.url, { method: 'DELETE', headers })).status).toBe(200);
  expect((await fetch(server.url, { method: 'DELETE', headers })).status).toBe(404);
  expect(server.telemetry.of('session')).toEqual([
    { serverId: 's1', event: 'created' },
    { serverId: 's1', event: 'ended', seconds: expect.any(Number), protocolVersion: REVISION },
  ]);
  const [opened] = await observed(3);
  expect(opened?.attributes).toMatchObject({ rpcMethod: 'initialize', sessionId, protocolVersion: REVISION });
});
