import type { IncomingHttpHeaders } from 'node:http';

import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { emptyResource } from '@opentelemetry/resources';
import { InMemorySpanExporter, type ReadableSpan } from '@opentelemetry/sdk-trace';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { type Body, parseBody } from '../../exchange/message.ts';
import { FakeUpstream } from '../../exchange/testing/fake-upstream.ts';
import { type OpenReply, startReplyServer } from '../../exchange/testing/reply-server.ts';
import type { RequestAttributes } from '../../exchange/request-attributes.ts';
import type { RequestTrace } from '../../exchange/request-trace.ts';
import type { ResponseControl, ResponseSink, UpstreamRequest } from '../../exchange/upstream.ts';
import { Tracing } from './tracing.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';
const traceparent = `00-${TRACE}-${PARENT}-01`;
const CALL = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"x":"private"}}}';
const bodyOf = (text: string): Body => parseBody(Buffer.from(text)) as Body;

let server: Awaited<ReturnType<typeof startReplyServer>>;
beforeAll(async () => {
  server = await startReplyServer();
});
afterAll(() => server.close());

interface Scene {
  readonly tracing: Tracing;
  readonly upstream: FakeUpstream;
  readonly begin: (more?: Partial<Parameters<Tracing['begin']>[0]>) => Promise<Begun>;
  /** What has been recorded, by name and kind. */
  readonly spans: () => Promise<ReadableSpan[]>;
}
interface Begun {
  readonly trace: RequestTrace;
  readonly attributes: RequestAttributes;
  readonly open: OpenReply;
  /** Answers the client, and waits until that has left. */
  readonly answer: (status?: number) => Promise<void>;
}

function scene(sampleRatio = 1): Scene {
  const exporter = new InMemorySpanExporter();
  const tracing = new Tracing({
    exporter,
    resource: emptyResource(),
    version: '1.2.3',
    sampleRatio,
    maxQueueSize: 100,
    delayMs: 60_000,
    exportTimeoutMs: 1_000,
    servers: [{ id: 's1', upstream: { url: 'https://user:hunter2@upstream/mcp?key=hunter2' } }],
    safe: (text) => text,
    onDropped: () => {},
  });
  const begin: Scene['begin'] = async (more = {}) => {
    const open = await server.open();
    const facts: RequestAttributes = { requestId: 'r1' };
    const { reply } = open;
    const common = { serverId: 's1', route: '/mcp/s1', httpMethod: 'POST' as const, headers: {}, within: undefined };
    const trace = tracing.begin({ ...common, body: bodyOf(CALL), reply, attributes: facts, ...more });
    const answer = async (status = 200): Promise<void> => {
      const closed = new Promise((resolve) => reply.once('close', resolve));
      reply.writeHead(status).end();
      await closed;
    };
    return { trace, attributes: facts, open, answer };
  };
  const spans = async (): Promise<ReadableSpan[]> => {
    await tracing.forceFlush();
    return exporter.getFinishedSpans();
  };
  return { tracing, upstream: new FakeUpstream(), begin, spans };
}

/** Who hears the answers of an upstream. */
class Listener implements ResponseSink {
  readonly heard: string[] = [];
  control: ResponseControl | undefined;
  onStart(control: ResponseControl): void {
    this.control = control;
  }
  onHead(): void {
    this.heard.push('head');
  }
  onData(chunk: Buffer): void {
    this.heard.push(String(chunk));
  }
  onEnd(): void {
    this.heard.push('end');
  }
  onError(error: Error, sent: boolean): void {
    this.heard.push(`${error.message} ${sent}`);
  }
}

const post = (body: Body = bodyOf(CALL), headers: readonly string[] = ['x', 'y']): UpstreamRequest => ({
  method: 'POST',
  session: { serverId: 's1', sessionId: '0123456789abcdef', upstreamSessionId: 'u', generation: 0 },
  headers,
  body,
});
const headersOf = (upstream: FakeUpstream): Record<string, string> => {
  const { headers } = upstream.last.request;
  return Object.fromEntries(headers.flatMap((name, i) => (i % 2 === 0 ? [[name, headers[i + 1] ?? '']] : [])));
};

describe('a request with a context', () => {
  test('is a span within it, and what goes upstream is a span within that', async () => {
    const { upstream, begin, spans } = scene();
    const headers: IncomingHttpHeaders = { traceparent, tracestate: 'v=1', baggage: 'k=1' };
    const { trace, attributes: facts, answer } = await begin({ headers });
    const listener = new Listener();
    trace.of(upstream).send(post(), listener);
    const carried = headersOf(upstream);
    const meta = (JSON.parse(upstream.last.request.body?.text ?? '') as { params: { _meta: unknown } }).params['_meta'];
    upstream.last.json().data('{"jsonrpc":"2.0","id":1,"result":{}}').end();
    Object.assign(facts, { outcome: 'ok', sessionId: 'abcdefghijkl' });
    await answer();

    const [client, request] = await spans();
    expect(request).toMatchObject({
      name: 'tools/call echo',
      kind: SpanKind.SERVER,
      parentSpanContext: { spanId: PARENT, isRemote: true },
      status: { code: SpanStatusCode.UNSET },
      attributes: {
        'http.route': '/mcp/s1',
        'http.response.status_code': 200,
        'mcp_adapter.request.id': 'r1',
        'mcp_adapter.outcome': 'ok',
        'mcp.session.id': 'abcdefgh',
      },
    });
    expect(request?.spanContext().traceId).toBe(TRACE);
    expect(facts.trace).toEqual(request?.spanContext());
    const own = client?.spanContext();
    expect(client).toMatchObject({
      name: 'tools/call echo',
      kind: SpanKind.CLIENT,
      parentSpanContext: { spanId: request?.spanContext().spanId },
      status: { code: SpanStatusCode.UNSET },
      attributes: {
        'server.address': 'upstream',
        'server.port': 443,
        'http.response.status_code': 200,
        'mcp.session.id': '01234567',
      },
    });
    const fields = { traceparent: `00-${TRACE}-${own?.spanId}-01`, tracestate: 'v=1', baggage: 'k=1' };
    expect(carried).toEqual({ x: 'y', ...fields });
    expect(meta).toEqual(fields);
    expect(listener.heard).toEqual(['head', '{"jsonrpc":"2.0","id":1,"result":{}}', 'end']);
    expect(JSON.stringify([client?.attributes, request?.attributes])).not.toMatch(/hunter2|private/);
  });

  test('of the message and another one of its HTTP request links that', async () => {
    const { begin, spans } = scene();
    const other = '1'.repeat(32);
    const text = CALL.replace('"name"', `"_meta":{"traceparent":"${traceparent}"},"name"`);
    const { answer } = await begin({
      headers: { traceparent: `00-${other}-${PARENT.replace('b', 'a')}-01` },
      body: bodyOf(text),
    });
    await answer();
    const [span] = await spans();
    expect(span?.spanContext().traceId).toBe(TRACE);
    expect(span?.links).toMatchObject([{ context: { traceId: other } }]);
  });

  test('that nobody records is passed on, and says so', async () => {
    const { upstream, begin, spans } = scene();
    const { trace, answer } = await begin({ headers: { traceparent: traceparent.replace(/01$/, '00') } });
    const listener = new Listener();
    trace.of(upstream).send(post(), listener);
    expect(headersOf(upstream)['traceparent']).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`));
    upstream.last.json().end();
    await answer();
    expect(listener.heard).toEqual(['head', 'end']);
    expect(await spans()).toEqual([]);
  });
});

describe('a trace that begins here', () => {
  test('is recorded as often as the configuration says', async () => {
    for (const [ratio, recorded] of [
      [0, false],
      [1, true],
    ] as const) {
      const { begin, spans } = scene(ratio);
      const { trace, answer } = await begin();
      await answer();
      expect(trace.context.traceFlags).toBe(recorded ? 1 : 0);
      const all = await spans();
      expect(all).toHaveLength(recorded ? 1 : 0);
      expect(all[0]?.parentSpanContext).toBeUndefined();
    }
  });

  test('goes on in what code calls', async () => {
    const { tracing, begin, spans } = scene();
    const outer = await begin({ headers: { baggage: 'k=1' } });
    // The client's own context stands in what code sends on in the revision without sessions.
    const inner = await begin({ within: outer.trace, headers: { traceparent } });
    await inner.answer();
    await outer.answer();
    const [nested, request] = await spans();
    expect(nested).toMatchObject({
      kind: SpanKind.INTERNAL,
      parentSpanContext: { spanId: request?.spanContext().spanId },
    });
    expect(nested?.spanContext().traceId).toBe(request?.spanContext().traceId);
    expect(inner.trace.baggage).toBe('k=1');
    expect(tracing.queued).toBe(0);
  });
});

describe('the span of a request to an upstream', () => {
  const sent = async (
    act: (upstream: FakeUpstream, listener: Listener) => void,
    request = post(),
  ): Promise<ReadableSpan | undefined> => {
    const { upstream, begin, spans } = scene();
    const { trace } = await begin();
    const listener = new Listener();
    trace.of(upstream).send(request, listener);
    act(upstream, listener);
    const all = await spans();
    expect(all).toHaveLength(1);
    return all[0];
  };
  const failed = (type: string) => ({ status: { code: SpanStatusCode.ERROR }, attributes: { 'error.type': type } });

  test('has failed as the upstream says', async () => {
    const span = await sent((upstream) => upstream.last.json(500).end());
    expect(span).toMatchObject(failed('500'));
    expect(span?.attributes['http.response.status_code']).toBe(500);
    const refused = await sent((upstream) =>
      upstream.last.json().data('{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"private"}}').end(),
    );
    expect(refused).toMatchObject(failed('-32602'));
    expect(refused?.attributes['rpc.response.status_code']).toBe('-32602');
    expect(refused?.status.message).toBeUndefined();
    const tool = await sent((upstream) =>
      upstream.last
        .eventStream()
        .data('event: message\ndata: {"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":true}}\n\n')
        .end(),
    );
    expect(tool).toMatchObject(failed('tool_error'));
  });

  test('has failed as the connection has', async () => {
    const error = Object.assign(new Error('connect ECONNREFUSED private'), { code: 'ECONNREFUSED' });
    expect(await sent((upstream) => upstream.last.fail(false, error))).toMatchObject(failed('ECONNREFUSED'));
  });

  test('has failed when it was given up before there was an answer', async () => {
    const abort = (upstream: FakeUpstream, listener: Listener): void => {
      listener.control?.abort();
      expect(upstream.last.aborted).toBe(true);
    };
    expect(await sent(abort)).toMatchObject(failed('cancelled'));
    const answered = await sent((upstream, listener) => {
      upstream.last.eventStream().data('data: {"jsonrpc":"2.0","id":1,"result":{}}\n\n');
      abort(upstream, listener);
    });
    expect(answered?.status.code).toBe(SpanStatusCode.UNSET);
    const stream = { ...post(), method: 'GET' as const, body: undefined };
    const left = await sent((upstream, listener) => {
      upstream.last.eventStream();
      abort(upstream, listener);
    }, stream);
    expect(left).toMatchObject({ name: 'GET /mcp/s1', status: { code: SpanStatusCode.UNSET } });
  });

  test('lets the flow of data be stopped', async () => {
    await sent((upstream, listener) => {
      listener.control?.pause();
      expect(upstream.last.paused).toBe(true);
      listener.control?.resume();
      expect(upstream.last.paused).toBe(false);
      upstream.last.json().end();
    });
  });

  test('that is sent again says so, whatever was sent in between', async () => {
    const { upstream, begin, spans } = scene();
    const { trace } = await begin();
    const [view, own] = [trace.of(upstream), trace.of(upstream)];
    const request = post();
    view.send(request, new Listener());
    upstream.last.json(404).end();
    own.send(post(bodyOf('{"jsonrpc":"2.0","id":"i","method":"initialize"}')), new Listener());
    upstream.last.json().end();
    view.send({ ...request }, new Listener());
    upstream.last.json().end();
    const all = await spans();
    expect(all.map(({ name, attributes }) => [name, attributes['http.request.resend_count']])).toEqual([
      ['tools/call echo', undefined],
      ['initialize', undefined],
      ['tools/call echo', 1],
    ]);
  });

  test('that ends a session is one only where there is a request for it', async () => {
    const { upstream, begin, spans } = scene();
    const view = (await begin()).trace.of(upstream);
    const { session } = post();
    if (session === undefined) expect.fail();
    await view.endSession({ ...session, upstreamSessionId: null }, [], 1_000);
    expect(await spans()).toEqual([]);
    await view.endSession(session, [], 1_000);
    expect(await spans()).toMatchObject([{ name: 'DELETE /mcp/s1', status: { code: SpanStatusCode.UNSET } }]);
  });
});
