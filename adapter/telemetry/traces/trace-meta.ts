import {
  CLOSE_OBJECT,
  locate,
  members,
  OPEN_OBJECT,
  skipSpace,
  type Span,
  splice,
} from '../../exchange/scanning/json-scan.ts';
import type { Body } from '../../exchange/message.ts';
import type { TraceFields } from './trace-context.ts';

/**
 * A message with the context in `params._meta` (OpenTelemetry's conventions for MCP); all its other characters stay as they
 * are. What cannot carry a context without loss comes back as it is: batches, responses, a `_meta` that is no object.
 */
export function withTraceMeta(body: Body, fields: TraceFields): Body {
  const [message] = body.messages;
  if (body.batch || message === undefined || message.kind === 'response') return body;
  const text = edited(body.text, fields);
  return text === undefined ? body : { ...body, text, bytes: Buffer.from(text) };
}

function edited(text: string, fields: TraceFields): string | undefined {
  const params = locate(text, ['params']);
  if (params === undefined) {
    // A message has other members, so a comma is right.
    const end = text.lastIndexOf('}');
    return splice(text, [{ start: end, end, with: `,"params":{"_meta":{${added(fields).join(',')}}}` }]);
  }
  const meta = locate(text, ['_meta'], params.start);
  if (meta === undefined) return splice(text, [inserted(text, params, [`"_meta":{${added(fields).join(',')}}`])]);
  if (text.charCodeAt(meta.start) !== OPEN_OBJECT) return undefined;
  return splice(text, metaEdits(text, meta, fields));
}

/** Replaces what is there, also where it is named twice, and puts the rest before it. */
function metaEdits(text: string, meta: Span, fields: TraceFields): (Span & { with: string })[] {
  const replaced: (Span & { with: string })[] = [];
  const seen = new Set<string>();
  for (const { key, start, end } of members(text, meta.start)) {
    // An empty list of states is valid; another trace's must not stay.
    const value =
      key === 'traceparent' || key === 'tracestate' ? fields[key] : key === 'baggage' ? fields.baggage : undefined;
    if (value === undefined) continue;
    seen.add(key);
    replaced.push({ start, end, with: JSON.stringify(value) });
  }
  const missing = added(fields, seen);
  return missing.length === 0 ? replaced : [inserted(text, meta, missing), ...replaced];
}

/** Members at the beginning of the object that starts there. */
function inserted(text: string, { start }: Span, texts: readonly string[]): Span & { with: string } {
  const at = start + 1;
  const isEmpty = text.charCodeAt(skipSpace(text, at)) === CLOSE_OBJECT;
  return { start: at, end: at, with: isEmpty ? texts.join(',') : `${texts.join(',')},` };
}

function added({ traceparent, tracestate, baggage }: TraceFields, except?: ReadonlySet<string>): string[] {
  const out: string[] = [];
  if (except?.has('traceparent') !== true) out.push(`"traceparent":"${traceparent}"`);
  if (tracestate !== '' && except?.has('tracestate') !== true) out.push(`"tracestate":${JSON.stringify(tracestate)}`);
  if (baggage !== undefined && except?.has('baggage') !== true) out.push(`"baggage":${JSON.stringify(baggage)}`);
  return out;
}
