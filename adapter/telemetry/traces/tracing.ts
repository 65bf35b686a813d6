import type { IncomingHttpHeaders } from 'node:http';

import { ROOT_CONTEXT, type Span, SpanKind, trace } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import {
  ParentBasedSampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';

import type { Body } from '../../exchange/message.ts';
import type { RequestAttributes } from '../../exchange/request-attributes.ts';
import type { RequestTrace } from '../../exchange/request-trace.ts';
import { shorten } from '../logs/logger.ts';
import { errorType } from '../outcome-labels.ts';
import { spanSubject } from './span-attributes.ts';
import { endSpan } from './spanned-response.ts';
import { type OnDropped, SpanQueue } from './span-queue.ts';
import { type ReceivedContext, receivedContext } from './trace-context.ts';
import { type SpanDeps, SpanTrace } from './traced-upstream.ts';

export interface TracingOptions {
  readonly exporter: SpanExporter;
  readonly resource: Resource;
  /** Of the program. */
  readonly version: string;
  /** Share of the traces that begin here; whoever has begun another has decided about it. */
  readonly sampleRatio: number;
  readonly maxQueueSize: number;
  readonly delayMs: number;
  readonly exportTimeoutMs: number;
  readonly servers: readonly { readonly id: string; readonly upstream: { readonly url: string } }[];
  /** Takes what is secret out of a text. */
  readonly safe: (text: string) => string;
  readonly onDropped: OnDropped;
}

/** A request on a mount whose span begins. */
export interface TracedRequest {
  readonly serverId: string;
  readonly route: string;
  readonly httpMethod: 'POST' | 'GET' | 'DELETE';
  readonly body: Body | undefined;
  readonly headers: IncomingHttpHeaders;
  /** Closes when the answer has left. */
  readonly reply: { readonly statusCode: number; once(event: 'close', listener: () => void): unknown };
  readonly attributes: RequestAttributes;
  /** The request whose code has made this one. */
  readonly within: RequestTrace | undefined;
}

const SCOPE = 'remote_mcp_adapter';

/**
 * Traces of what clients ask: a span for each request of a client, one for each call that code makes within it, and one
 * for each request to an upstream.
 *
 *     client ─▶ SERVER tools/call ─▶ CLIENT tools/call ─▶ upstream
 *                     ├─▶ CLIENT tools/call                          once more, in a new session
 *                     └─▶ INTERNAL tools/call ─▶ CLIENT tools/call   called by code
 *
 * The context is handed on by hand: asynchronous storage costs every promise of the program something.
 */
export class Tracing {
  readonly #queue: SpanQueue;
  readonly #provider: TracerProvider;
  readonly #parts: SpanDeps;

  constructor(options: TracingOptions) {
    const { resource, sampleRatio, version, safe } = options;
    this.#queue = new SpanQueue(options);
    this.#provider = new TracerProvider({
      resource,
      sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(sampleRatio) }),
      spanProcessors: [this.#queue],
    });
    const addresses = new Map(options.servers.map(({ id, upstream }) => [id, addressOf(upstream.url)]));
    this.#parts = { tracer: this.#provider.getTracer(SCOPE, version), addresses, safe };
  }

  /** Spans that wait for their export. */
  get queued(): number {
    return this.#queue.length;
  }

  /** Begins the span of a request, which ends when the answer has left. */
  begin(request: TracedRequest): RequestTrace {
    const { serverId, route, within, body, headers, attributes } = request;
    const received: ReceivedContext =
      within === undefined
        ? receivedContext(headers, body)
        : { parent: within.context, link: undefined, baggage: within.baggage };
    const { parent, link, baggage } = received;
    const { tracer, safe } = this.#parts;
    const span = tracer.startSpan(
      '',
      {
        kind: within === undefined ? SpanKind.SERVER : SpanKind.INTERNAL,
        ...(link !== undefined && { links: [{ context: link }] }),
      },
      parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent),
    );
    attributes.trace = span.spanContext();
    // Most may be unrecorded, and nobody asks what those are about.
    if (!span.isRecording()) return new SpanTrace(this.#parts, { serverId, route, span, baggage });
    const subject = spanSubject({ ...request, protocolVersion: headers['mcp-protocol-version'] }, safe);
    span.updateName(subject.name);
    span.setAttributes({ ...subject.attributes, 'http.route': route, 'mcp_adapter.request.id': attributes.requestId });
    endWithReply(span, request);
    return new SpanTrace(this.#parts, { serverId, route, span, baggage, body, subject });
  }

  forceFlush(): Promise<void> {
    return this.#queue.forceFlush();
  }

  /** Exports what waits. Spans that end later are lost. */
  shutdown(): Promise<void> {
    return this.#provider.shutdown();
  }
}

function endWithReply(span: Span, { reply, attributes, httpMethod }: TracedRequest): void {
  reply.once('close', () => {
    const end = performance.now();
    // Those who wait for the same event say first how it came to it.
    process.nextTick(() => {
      span.setAttribute('http.response.status_code', reply.statusCode);
      if (attributes.outcome !== undefined) span.setAttribute('mcp_adapter.outcome', attributes.outcome);
      if (attributes.sessionId !== undefined) span.setAttribute('mcp.session.id', shorten(attributes.sessionId));
      if (typeof attributes.failure === 'number')
        span.setAttribute('rpc.response.status_code', String(attributes.failure));
      // Who opens a stream goes when it has heard enough.
      const isLeft = httpMethod === 'GET' && attributes.outcome === 'client_closed';
      endSpan(span, isLeft ? undefined : errorType(attributes, attributes.failure), end);
    });
  });
}

function addressOf(url: string): { 'server.address': string; 'server.port': number } {
  const { hostname, port, protocol } = new URL(url);
  return { 'server.address': hostname, 'server.port': Number(port || (protocol === 'https:' ? 443 : 80)) };
}
