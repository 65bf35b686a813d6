import type { IncomingHttpHeaders } from 'node:http';

import { defaultTextMapGetter, defaultTextMapSetter, ROOT_CONTEXT, type SpanContext, trace } from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';

import type { Body } from '../../exchange/message.ts';

/** What a client says about the trace that its request belongs to. */
export interface ReceivedContext {
  /** Undefined where a trace begins here. */
  readonly parent: SpanContext | undefined;
  /** The context of the HTTP request, where the message names another one. */
  readonly link: SpanContext | undefined;
  /** As the client wrote it. */
  readonly baggage: string | undefined;
}

/** What goes upstream in every place that can carry it. */
export interface TraceFields {
  readonly traceparent: string;
  /** '' for none. */
  readonly tracestate: string;
  readonly baggage: string | undefined;
}

/** What a baggage header may hold at most (W3C Baggage, section 3.3.2), and nothing that would end a header. */
const BAGGAGE = /^[\x20-\x7e]{1,8192}$/;
const propagator = new W3CTraceContextPropagator();

/**
 * Reads the context of a request: that of the message in `_meta` counts before that of the headers, because one HTTP request need
 * not be one message. In a batch, which has one answer for many messages, only the headers count.
 */
export function receivedContext(headers: IncomingHttpHeaders, body: Body | undefined): ReceivedContext {
  const meta = body === undefined || body.batch ? undefined : metaOf(body);
  const ofMessage = meta === undefined ? undefined : contextIn(meta);
  const ofHeaders = contextIn(headers);
  const isOther = ofMessage !== undefined && ofHeaders !== undefined && ofHeaders.spanId !== ofMessage.spanId;
  return {
    parent: ofMessage ?? ofHeaders,
    link: isOther ? ofHeaders : undefined,
    baggage: baggageIn(meta) ?? baggageIn(headers),
  };
}

/** The context of a span as others read it. */
export function traceFields(span: SpanContext, baggage: string | undefined): TraceFields {
  const carrier: Partial<Record<string, string>> = {};
  propagator.inject(trace.setSpanContext(ROOT_CONTEXT, span), carrier, defaultTextMapSetter);
  return { traceparent: carrier['traceparent'] ?? '', tracestate: carrier['tracestate'] ?? '', baggage };
}

/** Headers (names and values in turn) with the context in the place of any other. */
export function withTraceHeaders(headers: readonly string[], fields: TraceFields): string[] {
  const out: string[] = [];
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i] ?? '';
    const lower = name.toLowerCase();
    if (lower === 'traceparent' || lower === 'tracestate') continue;
    if (lower === 'baggage' && fields.baggage !== undefined) continue;
    out.push(name, headers[i + 1] ?? '');
  }
  out.push('traceparent', fields.traceparent);
  if (fields.tracestate !== '') out.push('tracestate', fields.tracestate);
  if (fields.baggage !== undefined) out.push('baggage', fields.baggage);
  return out;
}

function metaOf(body: Body): Readonly<Record<string, unknown>> | undefined {
  const meta = body.messages[0]?.params['_meta'];
  return typeof meta === 'object' && meta !== null ? (meta as Record<string, unknown>) : undefined;
}

function contextIn(carrier: Readonly<Record<string, unknown>>): SpanContext | undefined {
  // Most requests have none.
  if (carrier['traceparent'] === undefined) return undefined;
  return trace.getSpanContext(propagator.extract(ROOT_CONTEXT, carrier, defaultTextMapGetter));
}

function baggageIn(carrier: Readonly<Record<string, unknown>> | undefined): string | undefined {
  const baggage = carrier?.['baggage'];
  return typeof baggage === 'string' && BAGGAGE.test(baggage) ? baggage : undefined;
}
