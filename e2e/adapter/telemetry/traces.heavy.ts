import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningAdapter, startAdapter } from '../../support/adapter-process.ts';
import { type Collector, startCollector } from '../../support/collector/collector.ts';
import type { CollectedSpan } from '../../support/collector/collected.ts';
import { needsCollector } from '../../support/collector/needs-collector.ts';
import { freePort } from '../../support/ports.ts';
import type { RawUpstream } from '../../support/raw-upstream.ts';
import { asObject, type JsonObject } from '../../support/scripted-upstream/json-rpc.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../../support/scripted-upstream/scripted-upstream.ts';
import { secret } from '../../support/secrets/secret.ts';
import { CODE_MODE, valueOf } from '../code-mode/kit/code.ts';
import { mounted } from '../kit/deployment.ts';
import { eventually } from '../kit/eventually.ts';
import { drain, knownSession, openSession, type Session } from '../kit/session.ts';
import { type SseUpstream, startSseUpstream } from '../kit/sse-upstream.ts';
import { carriedBy, type ClientTrace, newTrace, spansOf, treeOf } from './kit/client-trace.ts';
import { callModern, SESSIONLESS_META, SESSIONLESS_REVISION, startModernUpstream } from './kit/modern-upstream.ts';

needsCollector();

const TOKEN = secret('token of the clients');
const STATIC = secret('key of the upstream');
const ARGUMENT = secret('argument of a call');
const SAID = secret('words of the upstream');
const headers = { 'x-mcp-adapter-auth-token': TOKEN };

const started = new AsyncDisposableStack();
let collector: Collector;
let adapter: RunningAdapter;
let up: ScriptedUpstream;
let code: ScriptedUpstream;
let sse: SseUpstream;
let modern: RawUpstream;
let downPort: number;

function config(telemetry: JsonObject): JsonObject {
  const quiet = { max_start_wait_seconds: 0, shutdown_grace_seconds: 0, upstream_ping: { enabled: false } };
  const secrets = { upstream: { static_headers: { 'x-api-key': STATIC } } };
  return {
    core: { ...quiet, log_level: 'info', auth: { enabled: true, token: TOKEN } },
    state_persistence: { type: 'memory' },
    sessions: { upstream_session_termination_retries: 1 },
    servers: [
      mounted('up', up.url, { ...secrets, tool_defaults: { tool_call_timeout_seconds: 2 } }),
      mounted('code', code.url, { ...secrets, ...CODE_MODE }),
      mounted('sse', sse.url, { upstream: { ...secrets.upstream, transport: 'sse' } }),
      mounted('modern', modern.url, secrets),
      mounted('down', `http://127.0.0.1:${downPort}/mcp`),
    ],
    telemetry,
  };
}

const over = (transport: 'grpc' | 'http', more: JsonObject = {}): JsonObject => ({
  enabled: true,
  transport,
  endpoint: transport === 'grpc' ? collector.grpc : `${collector.http}/v1/metrics`,
  periodic_flush_seconds: 0.1,
  traces: { enabled: true, ...(transport === 'http' && { endpoint: `${collector.http}/v1/traces` }), ...more },
});

beforeAll(async () => {
  collector = started.use(await startCollector());
  up = started.use(await startScriptedUpstream());
  code = started.use(await startScriptedUpstream());
  sse = started.use(await startSseUpstream());
  modern = started.use(await startModernUpstream());
  downPort = await freePort();
  up.tools.set('fails', {
    definition: { inputSchema: { type: 'object' } },
    call: () => ({ content: [{ type: 'text', text: SAID }], isError: true }),
  });
  adapter = started.use(await startAdapter({ config: config(over('grpc')) }));
});
afterAll(() => started.disposeAsync());

const open = (server: string, place: RunningAdapter = adapter): Promise<Session> =>
  openSession(place, { headers, path: `/mcp/${server}` });
/** Calls a tool within a trace, and resolves with the status when the answer has come. */
const callWithin = (session: Session, trace: ClientTrace, name: string, args: JsonObject = {}): Promise<number> =>
  drain(
    session
      .at(adapter)
      .request('tools/call', { name, arguments: args }, { headers: { traceparent: trace.traceparent } }),
  );
const named = (spans: readonly CollectedSpan[], kind: CollectedSpan['kind'], name: string): CollectedSpan =>
  spans.find((span) => span.kind === kind && span.name === name) ?? expect.fail(`no ${kind} ${name}`);
const failure = (span: CollectedSpan): unknown => [span.status.code, span.attributes['error.type']];

describe('the trace of a client', { timeout: 60_000 }, () => {
  test('goes through the adapter to the upstream', async () => {
    const session = await open('up');
    const trace = newTrace();
    const send = { headers: { traceparent: trace.traceparent, tracestate: 'v=1', baggage: 'k=1' } };
    const params = { name: 'echo', arguments: { q: ARGUMENT } };
    await drain(session.at(adapter).request('tools/call', params, send));
    const spans = await spansOf(collector, trace, ['server tools/call echo', '  client tools/call echo']);
    const [client, request] = [named(spans, 'client', 'tools/call echo'), named(spans, 'server', 'tools/call echo')];
    const sent = up.requestsOf('tools/call').at(-1);
    if (sent === undefined) expect.fail('nothing was sent');
    expect(carriedBy(sent)).toEqual({ traceId: trace.traceId, spanId: client.spanId, flags: '01' });
    expect(sent.headers).toMatchObject({ tracestate: 'v=1', baggage: 'k=1' });
    expect(asObject(sent.json).params).toEqual({
      _meta: { traceparent: sent.headers.traceparent, tracestate: 'v=1', baggage: 'k=1' },
      ...params,
    });

    const common = {
      'mcp_adapter.server.id': 'up',
      'network.transport': 'tcp',
      'network.protocol.name': 'http',
      'http.request.method': 'POST',
      'http.response.status_code': 200,
      'mcp.method.name': 'tools/call',
      'mcp.protocol.version': '2025-11-25',
      'mcp.session.id': session.sessionId.slice(0, 8),
      'jsonrpc.request.id': '1',
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'echo',
    };
    expect(request.attributes).toEqual({
      ...common,
      'http.route': '/mcp/up',
      'mcp_adapter.outcome': 'ok',
      'mcp_adapter.request.id': expect.stringMatching(/^\S{8,}$/) as string,
    });
    const { hostname, port } = new URL(up.url);
    expect(client.attributes).toEqual({ ...common, 'server.address': hostname, 'server.port': Number(port) });
    expect([request.status, client.status]).toEqual([
      { code: 'unset', message: '' },
      { code: 'unset', message: '' },
    ]);
    expect(request.traceState).toBe('v=1');
    expect(request.scope.name).toBe('remote_mcp_adapter');
    expect(request.resource).toMatchObject({ 'service.name': 'remote-mcp-adapter' });
    expect(BigInt(request.start)).toBeLessThanOrEqual(BigInt(client.start));
  });

  test('that stands in the message counts before that of its HTTP request', async () => {
    const session = await open('up');
    const [trace, other] = [newTrace(), newTrace()];
    const body = `{"jsonrpc":"2.0","id":12345678901234567890,"method":"tools/call","params":{"name":"echo","_meta":{"traceparent":"${trace.traceparent}","x": 1.0},"arguments":{}}}`;
    await drain(session.at(adapter).send(body, { headers: { traceparent: other.traceparent } }));
    const spans = await spansOf(collector, trace, ['server tools/call echo', '  client tools/call echo']);
    expect(named(spans, 'server', 'tools/call echo').links).toMatchObject([
      { traceId: other.traceId, spanId: other.spanId },
    ]);
    const sent = up.requestsOf('tools/call').at(-1);
    const { spanId } = named(spans, 'client', 'tools/call echo');
    expect(sent?.text).toBe(body.replace(trace.traceparent, `00-${trace.traceId}-${spanId}-01`));
  });

  test('goes through in the revision without sessions', async () => {
    const trace = newTrace();
    const meta = { ...SESSIONLESS_META, traceparent: trace.traceparent };
    const params = { name: 'echo', arguments: { q: ARGUMENT }, _meta: meta };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 'a', method: 'tools/call', params });
    expect(await drain(callModern(adapter, '/mcp/modern', body, headers))).toBe(200);
    const spans = await spansOf(collector, trace, [
      'server tools/call echo',
      // Whether it speaks this revision, and which arguments travel in headers.
      '  client server/discover',
      '  client tools/list',
      '  client tools/call echo',
    ]);
    const client = named(spans, 'client', 'tools/call echo');
    expect(client.attributes).toMatchObject({
      'mcp.protocol.version': SESSIONLESS_REVISION,
      'jsonrpc.request.id': 'a',
    });
    expect(client.attributes).not.toHaveProperty('mcp.session.id');
    for (const request of modern.requests) {
      const { traceId, spanId } = carriedBy(request);
      expect(traceId).toBe(trace.traceId);
      expect(spans.map((span) => span.spanId)).toContain(spanId);
    }
  });

  test('goes through to an upstream of HTTP+SSE', async () => {
    const session = await open('sse');
    const trace = newTrace();
    expect(await callWithin(session, trace, 'echo', { q: ARGUMENT })).toBe(200);
    const spans = await spansOf(collector, trace, ['server tools/call echo', '  client tools/call echo']);
    const sent = sse.requestsOf('tools/call').at(-1);
    if (sent === undefined) expect.fail('nothing was sent');
    expect(carriedBy(sent).spanId).toBe(named(spans, 'client', 'tools/call echo').spanId);
  });

  test('goes on in the calls of code', async () => {
    const session = await open('code');
    const trace = newTrace();
    const script = `return await Promise.all([call_tool('echo', { n: 1 }), call_tool('echo', { n: 2 })]);`;
    expect(await callWithin(session, trace, 'code_execute', { code: script })).toBe(200);
    const nested = ['  internal tools/call echo', '    client tools/call echo'];
    const spans = await spansOf(collector, trace, ['server tools/call code_execute', ...nested, ...nested]);
    const sent = code.requestsOf('tools/call').map((request) => carriedBy(request).spanId);
    const clients = spans.filter(({ kind }) => kind === 'client').map(({ spanId }) => spanId);
    expect(sent.toSorted()).toEqual(clients.toSorted());
    expect(named(spans, 'internal', 'tools/call echo').attributes).toMatchObject({
      'gen_ai.tool.name': 'echo',
      'mcp_adapter.outcome': 'ok',
    });
  });

  test('shows that a lost session was opened again', async () => {
    const session = await open('up');
    up.forgetSessions();
    const trace = newTrace();
    const mark = up.requests.length;
    expect(await callWithin(session, trace, 'echo')).toBe(200);
    const spans = await spansOf(collector, trace, [
      'server tools/call echo',
      '  client tools/call echo',
      '  client initialize',
      '  client notifications/initialized',
      '  client tools/call echo',
    ]);
    const calls = spans.filter(({ kind, name }) => kind === 'client' && name === 'tools/call echo');
    expect(calls.map((span) => [failure(span), span.attributes['http.request.resend_count']])).toEqual([
      [['error', '404'], undefined],
      [['unset', undefined], 1],
    ]);
    expect(failure(named(spans, 'server', 'tools/call echo'))).toEqual(['unset', undefined]);
    const sent = up.requests.slice(mark).map((request) => carriedBy(request));
    expect(new Set(sent.map(({ traceId }) => traceId))).toEqual(new Set([trace.traceId]));
    expect(new Set(sent.map(({ spanId }) => spanId)).size).toBe(4);
  });

  test('stands in the headers of a batch only, whose bytes stay what they are', async () => {
    const session = await openSession(adapter, { headers, path: '/mcp/up', protocolVersion: '2025-03-26' });
    const [trace, other] = [newTrace(), newTrace()];
    const ping = `{"jsonrpc":"2.0","id":"p","method":"ping","params":{"_meta":{"traceparent":"${other.traceparent}"}}}`;
    const text = `[ ${ping}, {"jsonrpc":"2.0","id":2,"method":"resources/list"}]`;
    expect(await drain(session.at(adapter).send(text, { headers: { traceparent: trace.traceparent } }))).toBe(200);
    const spans = await spansOf(collector, trace, ['server POST /mcp/up', '  client POST /mcp/up']);
    expect(spans.map(({ attributes }) => attributes['mcp_adapter.batch.size'])).toEqual([2, 2]);
    const sent = up.requestsOf('ping').at(-1);
    expect(sent?.text).toBe(text);
    expect(sent?.headers.traceparent).toBe(`00-${trace.traceId}-${named(spans, 'client', 'POST /mcp/up').spanId}-01`);
  });

  test('holds streams and the end of a session', async () => {
    const session = await open('up');
    const door = session.at(adapter);
    const [stream, end] = [newTrace(), newTrace()];
    const client = new AbortController();
    const send = { headers: { traceparent: stream.traceparent }, signal: client.signal };
    await door.stream(send);
    client.abort();
    const opened = await spansOf(collector, stream, ['server GET /mcp/up', '  client GET /mcp/up']);
    expect(opened.map(failure)).toEqual([
      ['unset', undefined],
      ['unset', undefined],
    ]);
    expect(await drain(door.end({ headers: { traceparent: end.traceparent } }))).toBe(200);
    await spansOf(collector, end, ['server DELETE /mcp/up', '  client DELETE /mcp/up']);
    const sent = up.requests.filter(({ method }) => method !== 'POST').map((request) => carriedBy(request).traceId);
    expect(sent).toEqual([stream.traceId, end.traceId]);
  });
});

describe('a span has failed', { timeout: 60_000 }, () => {
  const both = (tool: string): string[] => [`server tools/call ${tool}`, `  client tools/call ${tool}`];

  test('when the tool has', async () => {
    const trace = newTrace();
    await callWithin(await open('up'), trace, 'fails');
    const spans = await spansOf(collector, trace, both('fails'));
    expect(spans.map(failure)).toEqual([
      ['error', 'tool_error'],
      ['error', 'tool_error'],
    ]);
  });

  test('when the upstream answers with an error', async () => {
    const trace = newTrace();
    await callWithin(await open('up'), trace, 'no-such-tool');
    const spans = await spansOf(collector, trace, both('no-such-tool'));
    expect(spans.map(failure)).toEqual([
      ['error', '-32602'],
      ['error', '-32602'],
    ]);
    expect(spans.map(({ attributes }) => attributes['rpc.response.status_code'])).toEqual(['-32602', '-32602']);
  });

  test('when the upstream answers with something else', async () => {
    const session = await open('up');
    const trace = newTrace();
    up.behavior.intercept = () => ({ status: 500, body: SAID });
    await callWithin(session, trace, 'echo').finally(() => (up.behavior.intercept = () => undefined));
    const spans = await spansOf(collector, trace, both('echo'));
    expect(failure(named(spans, 'client', 'tools/call echo'))).toEqual(['error', '500']);
    expect(failure(named(spans, 'server', 'tools/call echo'))).toEqual(['error', 'upstream_failed']);
  });

  test('when the call takes too long', async () => {
    const trace = newTrace();
    await callWithin(await open('up'), trace, 'slow', { key: 'never' });
    const tree = [...both('slow'), '  client notifications/cancelled'];
    const { spans } = await collector.waitFor(({ spans }) =>
      expect(treeOf(spans, trace).toSorted()).toEqual(tree.toSorted()),
    );
    expect(failure(named(ofTrace(spans, trace), 'client', 'tools/call slow'))).toEqual(['error', 'cancelled']);
    expect(failure(named(ofTrace(spans, trace), 'server', 'tools/call slow'))).toEqual(['error', 'timeout']);
  });

  test('when the adapter refuses, or cannot read a request', async () => {
    const [refused, broken, unreachable] = [newTrace(), newTrace(), newTrace()];
    const stranger = knownSession('0'.repeat(32), '2025-11-25', { headers, path: '/mcp/up' });
    expect(await callWithin(stranger, refused, 'echo')).toBe(404);
    const [span] = await spansOf(collector, refused, ['server tools/call echo']);
    expect(span).toMatchObject({ attributes: { 'http.response.status_code': 404, 'error.type': 'session_not_found' } });

    await drain(stranger.at(adapter).send(`{"${ARGUMENT}`, { headers: { traceparent: broken.traceparent } }));
    const [unread] = await spansOf(collector, broken, ['server POST /mcp/up']);
    expect(unread?.attributes).toMatchObject({ 'error.type': 'parse_error' });

    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
    const down = knownSession('x', '2025-11-25', { headers, path: '/mcp/down' }).at(adapter);
    await drain(down.request('initialize', params, { headers: { traceparent: unreachable.traceparent } }));
    const spans = await spansOf(collector, unreachable, ['server initialize', '  client initialize']);
    expect(failure(named(spans, 'client', 'initialize'))).toEqual(['error', 'ECONNREFUSED']);
  });

  const ofTrace = (spans: readonly CollectedSpan[], { traceId }: ClientTrace): CollectedSpan[] =>
    spans.filter((span) => span.traceId === traceId);
});

describe('without a trace of the client', { timeout: 60_000 }, () => {
  test('one begins at the adapter', async () => {
    const session = await open('up');
    await session.at(adapter).tool('echo', { n: 1 });
    const sent = up.requestsOf('tools/call').at(-1);
    if (sent === undefined) expect.fail('nothing was sent');
    const { traceId, spanId } = carriedBy(sent);
    const { spans } = await collector.waitFor(({ spans }) =>
      expect(spans.filter((span) => span.traceId === traceId)).toHaveLength(2),
    );
    const own = spans.filter((span) => span.traceId === traceId);
    const request = named(own, 'server', 'tools/call echo');
    expect(request.parentSpanId).toBeUndefined();
    expect(named(own, 'client', 'tools/call echo')).toMatchObject({ spanId, parentSpanId: request.spanId });
  });

  test('the log knows which', async () => {
    const trace = newTrace();
    await callWithin(await open('up'), trace, 'echo');
    const [span] = (await spansOf(collector, trace, ['server tools/call echo', '  client tools/call echo'])).filter(
      ({ kind }) => kind === 'server',
    );
    const lines = (): unknown[] => adapter.logs().filter((line) => line.trace_id === trace.traceId);
    await eventually(() => lines().length).toBe(1);
    expect(lines()).toMatchObject([{ tool: 'echo', span_id: span?.spanId }]);
  });
});

describe('a part of the traces', { timeout: 60_000 }, () => {
  test('is recorded: none that begin here with the ratio 0, all that their client records', async () => {
    await using sampled = await startAdapter({ config: config(over('http', { sample_ratio: 0 })) });
    const session = await open('up', sampled);
    const door = session.at(sampled);
    const [recorded, unrecorded] = [newTrace('01'), newTrace('00')];
    const mark = up.requestsOf('tools/call').length;
    const params = { name: 'echo', arguments: {} };
    await drain(door.request('tools/call', params));
    await drain(door.request('tools/call', params, { headers: { traceparent: unrecorded.traceparent } }));
    await drain(door.request('tools/call', params, { headers: { traceparent: recorded.traceparent } }));
    await spansOf(collector, recorded, ['server tools/call echo', '  client tools/call echo']);
    const carried = up
      .requestsOf('tools/call')
      .slice(mark)
      .map((request) => carriedBy(request));
    expect(carried.map(({ flags }) => flags)).toEqual(['00', '00', '01']);
    expect(carried.slice(1).map(({ traceId }) => traceId)).toEqual([unrecorded.traceId, recorded.traceId]);
    // What is recorded leaves in order, so that the others would be there.
    const { spans } = await collector.collected();
    for (const { traceId } of carried.slice(0, 2)) expect(spans.filter((span) => span.traceId === traceId)).toEqual([]);
  });
});

test('without traces, the upstream gets the bytes that came, and no header more', { timeout: 60_000 }, async () => {
  await using plain = await startAdapter({ config: config({ enabled: false }) });
  const session = await open('up', plain);
  const trace = newTrace();
  const send = { headers: { traceparent: trace.traceparent, tracestate: 'v=1', baggage: 'k=1' } };
  const text = `{ "jsonrpc":"2.0","id":1.0,"method":"tools/call" ,"params":{"name":"echo","_meta":{"traceparent":"${trace.traceparent}"},"arguments":{"ü":1e2}}}`;
  await drain(session.at(plain).send(text, send));
  const sent = up.requestsOf('tools/call').at(-1);
  expect(sent?.text).toBe(text);
  const modernText = text.replace(
    '"_meta":{',
    `"_meta":{"io.modelcontextprotocol/protocolVersion":"${SESSIONLESS_REVISION}",`,
  );
  await drain(callModern(plain, '/mcp/modern', modernText, { ...headers, ...send.headers }));
  const sentModern = modern.requests.at(-1);
  expect(sentModern?.text).toBe(modernText);
  for (const request of [sent, sentModern]) {
    for (const name of ['traceparent', 'tracestate', 'baggage']) expect(request?.headers).not.toHaveProperty(name);
  }
});

test('traces hold nothing secret', { timeout: 60_000 }, async () => {
  const session = await open('code');
  expect(await valueOf(session.at(adapter), `return '${ARGUMENT}';`, 'code')).toBe(ARGUMENT);
  const { spans } = await collector.waitFor(({ spans }) =>
    expect(spans.filter(({ name }) => name === 'tools/call code_execute').length).toBeGreaterThan(1),
  );
  const text = JSON.stringify(spans);
  const sessions = [session.sessionId, ...up.sessions.keys(), ...code.sessions.keys(), ...sse.sessions.keys()];
  for (const secret of [TOKEN, STATIC, ARGUMENT, SAID, ...sessions]) expect(text).not.toContain(secret);
  expect(text).toContain(session.sessionId.slice(0, 8));
});
