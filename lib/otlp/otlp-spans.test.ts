import {
  createTraceState,
  type HrTime,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
} from '@opentelemetry/api';
import { ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import { resourceFromAttributes } from '@opentelemetry/resources';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { expect, test } from 'vitest';
import { spansMessage } from './otlp-spans.ts';
import { decode } from './testing/otlp-receiver.ts';

const resource = resourceFromAttributes({ 'service.name': 'shöp' });
const scope = { name: 'adapter', version: '1' };
const time: HrTime = [1_770_000_000, 123_456_789];
const context: SpanContext = {
  traceId: '0af7651916cd43dd8448eb211c80319c',
  spanId: '00f067aa0ba902b7',
  traceFlags: TraceFlags.SAMPLED,
};
const parent: SpanContext = { ...context, spanId: 'b7ad6b7169203331' };

const span = (own: Partial<ReadableSpan> = {}): ReadableSpan => ({
  name: 'tools/call x',
  kind: SpanKind.SERVER,
  spanContext: () => context,
  startTime: time,
  endTime: [1_770_000_009, 999_999_999],
  duration: [9, 0],
  status: { code: SpanStatusCode.UNSET },
  attributes: { 'mcp.method.name': 'tools/call', status: 200, list: ['a', 'b'], ok: true, part: 0.5 },
  links: [],
  events: [],
  ended: true,
  resource,
  instrumentationScope: scope,
  droppedAttributesCount: 0,
  droppedEventsCount: 0,
  droppedLinksCount: 0,
  ...own,
});

test.each<[string, Partial<ReadableSpan>]>([
  ['nothing more', {}],
  ['each kind', { kind: SpanKind.CLIENT }],
  ['the first kind', { kind: SpanKind.INTERNAL, attributes: {} }],
  ['a parent here', { parentSpanContext: parent }],
  ['a parent elsewhere', { parentSpanContext: { ...parent, isRemote: true } }],
  ['a parent that says it is here', { parentSpanContext: { ...parent, isRemote: false } }],
  ['a failure', { status: { code: SpanStatusCode.ERROR, message: 'it was nöt' } }],
  ['states', { spanContext: () => ({ ...context, traceState: createTraceState('a=1,b=2') }) }],
  [
    'links',
    {
      links: [
        { context: { ...parent, isRemote: true, traceState: createTraceState('c=3') }, attributes: { why: 'x' } },
        { context: { ...parent, traceFlags: 0 } },
      ],
    },
  ],
  [
    'events',
    {
      events: [
        { time, name: 'first', attributes: { n: 1 } },
        { time: [1_770_000_001, 0], name: 'x'.repeat(200) },
      ],
    },
  ],
])('a span with %s is written as OpenTelemetry writes it', (_, own) => {
  const other = { instrumentationScope: { name: 'other' } };
  const spans = [span(own), span(other), span({ ...own, name: 'é' })];
  const theirs = ProtobufTraceSerializer.serializeRequest(spans) ?? Buffer.alloc(0);
  expect(decode('SpansRequest', spansMessage(spans, 8))).toEqual(decode('SpansRequest', theirs));
});
