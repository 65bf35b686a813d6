import type { SpanContext } from '@opentelemetry/api';

import type { Upstream } from './upstream.ts';

/** The span of one request of a client. What is sent to an upstream on its behalf belongs to it. */
export interface RequestTrace {
  readonly context: SpanContext;
  /** What the client gave to be passed on beside the context, as it wrote it. */
  readonly baggage: string | undefined;
  /** An upstream whose requests carry the context, and are spans of their own within this one. */
  of(upstream: Upstream): Upstream;
}
