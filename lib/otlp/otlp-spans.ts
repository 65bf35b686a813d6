import type { Link, SpanContext } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { block, fixed, fixed32, number, scopedMessage, writeAttributes, writeTime } from './otlp-values.ts';
import type { ProtobufWriter } from './protobuf-writer.ts';

/** ExportTraceServiceRequest. All spans are of one resource. @param size a guess in bytes */
export const spansMessage = (spans: readonly ReadableSpan[], size: number): Uint8Array =>
  scopedMessage(spans, size, writeSpan);

function writeSpan(out: ProtobufWriter, span: ReadableSpan): void {
  const at = out.length;
  const context = span.spanContext();
  const { parentSpanContext: parent, status, links, events } = span;
  writeFlags(out, 16, context, parent?.isRemote);
  writeStatus(out, status);
  for (const link of links.toReversed()) writeLink(out, link);
  for (const event of events.toReversed()) writeEvent(out, event);
  writeAttributes(out, block(9), span.attributes);
  writeTime(out, fixed(8), span.endTime);
  writeTime(out, fixed(7), span.startTime);
  // 0 is a kind that is not known.
  out.varint(span.kind + 1);
  out.byte(number(6));
  out.text(block(5), span.name);
  if (parent !== undefined) out.hex(block(4), parent.spanId);
  writeIds(out, context);
  out.close(block(2), at);
}

function writeStatus(out: ProtobufWriter, { code, message }: ReadableSpan['status']): void {
  const at = out.length;
  out.varint(code);
  out.byte(number(3));
  if (message !== undefined) out.text(block(2), message);
  out.close(block(15), at);
}

function writeLink(out: ProtobufWriter, { context, attributes }: Link): void {
  const at = out.length;
  writeFlags(out, 6, context, context.isRemote);
  if (attributes !== undefined) writeAttributes(out, block(4), attributes);
  writeIds(out, context);
  out.close(block(13), at);
}

function writeEvent(out: ProtobufWriter, { time, name, attributes }: ReadableSpan['events'][0]): void {
  const at = out.length;
  if (attributes !== undefined) writeAttributes(out, block(3), attributes);
  out.text(block(2), name);
  writeTime(out, fixed(1), time);
  out.close(block(11), at);
}

/** Fields 1 to 3 of spans and links. */
function writeIds(out: ProtobufWriter, { traceId, spanId, traceState }: SpanContext): void {
  const state = traceState?.serialize() ?? '';
  if (state !== '') out.text(block(3), state);
  out.hex(block(2), spanId);
  out.hex(block(1), traceId);
}

/** Said: whether the parent, or what is linked, is elsewhere. */
const HAS_IS_REMOTE = 0x100;
const IS_REMOTE = 0x200;

function writeFlags(
  out: ProtobufWriter,
  field: number,
  { traceFlags }: SpanContext,
  isRemote: boolean | undefined,
): void {
  out.fixed32(traceFlags | HAS_IS_REMOTE | (isRemote === true ? IS_REMOTE : 0));
  // A tag of field 16 has two bytes.
  out.varint(fixed32(field));
}
