import {
  type Attributes,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  trace,
  type Tracer,
} from '@opentelemetry/api';

import type { Body } from '../../exchange/message.ts';
import type { RequestTrace } from '../../exchange/request-trace.ts';
import type { ResponseSink, Upstream, UpstreamRequest, UpstreamSession } from '../../exchange/upstream.ts';
import { shorten } from '../logs/logger.ts';
import { spanSubject, type SpanSubject } from './span-attributes.ts';
import { endSpan, failureType, SpannedResponse } from './spanned-response.ts';
import { type TraceFields, traceFields, withTraceHeaders } from './trace-context.ts';
import { withTraceMeta } from './trace-meta.ts';

/** What all spans have in common. */
export interface SpanDeps {
  readonly tracer: Tracer;
  /** Where the upstreams are, by the id of their server. */
  readonly addresses: ReadonlyMap<string, Attributes>;
  /** Takes what is secret out of a text. */
  readonly safe: (text: string) => string;
}

interface SpanOfRequest {
  readonly serverId: string;
  readonly route: string;
  readonly span: Span;
  readonly baggage: string | undefined;
  readonly body?: Body | undefined;
  /** What that span says of the body, which usually goes upstream as it is. */
  readonly subject?: SpanSubject;
}

/** The span of a request, within which those of its requests to upstreams begin. */
export class SpanTrace implements RequestTrace {
  readonly context: SpanContext;
  readonly baggage: string | undefined;
  readonly #parts: SpanDeps;
  readonly #request: SpanOfRequest;
  readonly #isSampled: boolean;
  /** One for each, which sees when a message is sent again. */
  readonly #traced = new Map<Upstream, Upstream>();

  constructor(parts: SpanDeps, request: SpanOfRequest) {
    this.context = request.span.spanContext();
    this.baggage = request.baggage;
    this.#parts = parts;
    this.#request = request;
    this.#isSampled = request.span.isRecording();
  }

  of(upstream: Upstream): Upstream {
    let traced = this.#traced.get(upstream);
    if (traced === undefined) this.#traced.set(upstream, (traced = new TracedUpstream(upstream, this)));
    return traced;
  }

  /** The span of a request to an upstream; undefined where the trace is not recorded. */
  startSpan(
    httpMethod: string,
    session: UpstreamSession | undefined,
    headers: readonly string[],
    body: Body | undefined,
  ): Span | undefined {
    if (!this.#isSampled) return undefined;
    const { tracer, addresses } = this.#parts;
    const { name, attributes } = this.#subjectOf(httpMethod, headers, body);
    const own: Attributes = { ...attributes, ...addresses.get(this.#request.serverId) };
    if (session !== undefined) own['mcp.session.id'] = shorten(session.sessionId);
    const context = trace.setSpanContext(ROOT_CONTEXT, this.context);
    return tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes: own }, context);
  }

  #subjectOf(httpMethod: string, headers: readonly string[], body: Body | undefined): SpanSubject {
    const { serverId, route, body: received, subject } = this.#request;
    if (subject !== undefined && body !== undefined && body === received) return subject;
    const protocolVersion = headerIn(headers, 'mcp-protocol-version');
    return spanSubject({ serverId, route, httpMethod, body, protocolVersion }, this.#parts.safe);
  }

  /** What carries the context of that span upstream. */
  fieldsOf(span: Span | undefined): TraceFields {
    return traceFields(span?.spanContext() ?? this.context, this.baggage);
  }
}

/** An upstream as one request sees it: what goes there carries its context. */
class TracedUpstream implements Upstream {
  readonly #inner: Upstream;
  readonly #trace: SpanTrace;
  /** How often each body was sent. */
  readonly #sent = new WeakMap<Body, number>();

  constructor(inner: Upstream, trace: SpanTrace) {
    this.#inner = inner;
    this.#trace = trace;
  }

  get modern(): boolean {
    return this.#inner.modern;
  }

  send(request: UpstreamRequest, sink: ResponseSink): void {
    const { method, session, headers, body, lastEventId } = request;
    const span = this.#trace.startSpan(method, session, headers, body);
    if (body !== undefined) {
      const resends = this.#sent.get(body) ?? 0;
      this.#sent.set(body, resends + 1);
      if (resends > 0) span?.setAttribute('http.request.resend_count', resends);
    }
    const fields = this.#trace.fieldsOf(span);
    const sent: UpstreamRequest = {
      method,
      session,
      headers: withTraceHeaders(headers, fields),
      body: body && withTraceMeta(body, fields),
      lastEventId,
    };
    this.#inner.send(sent, span === undefined ? sink : new SpannedResponse(span, sink, method === 'GET'));
  }

  async endSession(session: UpstreamSession, headers: readonly string[], timeoutMs: number): Promise<void> {
    const isRequest = this.#inner.modern && Boolean(session.upstreamSessionId);
    // With HTTP+SSE it is the end of a connection, and who has no session needs to tell nobody.
    if (!isRequest) return this.#inner.endSession(session, headers, timeoutMs);
    const span = this.#trace.startSpan('DELETE', session, headers, undefined);
    let failure: string | undefined;
    try {
      await this.#inner.endSession(session, withTraceHeaders(headers, this.#trace.fieldsOf(span)), timeoutMs);
    } catch (error) {
      failure = failureType(error);
      throw error;
    } finally {
      if (span !== undefined) endSpan(span, failure);
    }
  }

  knowsEvent(eventId: string, session: UpstreamSession): boolean {
    return this.#inner.knowsEvent(eventId, session);
  }

  /** All requests share it. */
  close(): Promise<void> {
    return this.#inner.close();
  }
}

function headerIn(headers: readonly string[], name: string): string | undefined {
  for (let i = 0; i + 1 < headers.length; i += 2) if (headers[i] === name) return headers[i + 1];
  return undefined;
}
