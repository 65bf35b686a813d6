import { randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import type { Collector } from '../../../support/collector/collector.ts';
import type { CollectedSpan } from '../../../support/collector/collected.ts';
import type { RecordedRequest } from '../../../support/raw-upstream.ts';
import { asObject } from '../../../support/scripted-upstream/json-rpc.ts';

/** A trace that a client has begun. */
export interface ClientTrace {
  readonly traceId: string;
  /** The client's span. */
  readonly spanId: string;
  readonly traceparent: string;
}

export function newTrace(flags: '00' | '01' = '01'): ClientTrace {
  const traceId = randomBytes(16).toString('hex');
  const spanId = randomBytes(8).toString('hex');
  return { traceId, spanId, traceparent: `00-${traceId}-${spanId}-${flags}` };
}

/**
 * The spans of a trace: each with its kind and its name, those within another one behind it and further in, in the order in
 * which they ended. A `?` stands before what hangs on a span that nobody knows.
 */
export function treeOf(spans: readonly CollectedSpan[], trace: Pick<ClientTrace, 'traceId' | 'spanId'>): string[] {
  const own = spans.filter(({ traceId }) => traceId === trace.traceId);
  const within = (parent: string | undefined, depth: number): string[] =>
    own
      .filter(({ parentSpanId }) => parentSpanId === parent)
      .flatMap(({ kind, name, spanId }) => [`${'  '.repeat(depth)}${kind} ${name}`, ...within(spanId, depth + 1)]);
  const known = within(trace.spanId, 0);
  return known.length === own.length ? known : [...known, ...own.map(({ kind, name }) => `? ${kind} ${name}`)];
}

/** Resolves with the spans of a trace once they are these. */
export async function spansOf(
  collector: Collector,
  trace: Pick<ClientTrace, 'traceId' | 'spanId'>,
  tree: readonly string[],
): Promise<readonly CollectedSpan[]> {
  const { spans } = await collector.waitFor(({ spans }) => expect(treeOf(spans, trace)).toEqual(tree));
  return spans.filter(({ traceId }) => traceId === trace.traceId);
}

/** What a request that came to an upstream says about its trace, which must be the same in all places. */
export function carriedBy({ headers, json }: RecordedRequest): Pick<ClientTrace, 'traceId' | 'spanId'> & {
  readonly flags: string;
} {
  const { traceparent } = headers;
  if (json !== undefined) expect(asObject(asObject(asObject(json).params)._meta).traceparent).toBe(traceparent);
  const [, traceId = '', spanId = '', flags = ''] = String(traceparent).split('-');
  return { traceId, spanId, flags };
}
