/** A point as it came, in plain values. Times are nanoseconds since 1970, as text, for they fit no double. */
export interface CollectedPoint {
  readonly name: string;
  readonly unit: string;
  readonly kind: 'gauge' | 'sum' | 'histogram';
  readonly monotonic?: boolean;
  /** 1: delta, 2: cumulative. */
  readonly temporality?: number;
  /** Of histograms: what was counted. */
  readonly value: number | Histogram;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly scope: Scope;
  readonly resource: Readonly<Record<string, unknown>>;
  readonly start: string;
  readonly time: string;
}

export interface Histogram {
  readonly count: number;
  readonly sum: number;
  readonly min: number;
  readonly max: number;
  readonly bounds: readonly number[];
  readonly buckets: readonly number[];
}

export interface Scope {
  readonly name: string;
  readonly version: string;
}

export interface CollectedLog {
  readonly body: unknown;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly severity: number;
  readonly severityText: string;
  readonly scope: Scope;
  readonly resource: Readonly<Record<string, unknown>>;
  readonly time: string;
  readonly observed: string;
  /** Of the span in which it was written. */
  readonly traceId?: string;
  readonly spanId?: string;
}

export interface CollectedSpan {
  readonly name: string;
  readonly kind: 'unspecified' | 'internal' | 'server' | 'client' | 'producer' | 'consumer';
  readonly traceId: string;
  readonly spanId: string;
  /** Undefined where the trace begins. */
  readonly parentSpanId?: string;
  readonly traceState: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly status: { readonly code: 'unset' | 'ok' | 'error'; readonly message: string };
  readonly events: readonly { readonly name: string; readonly attributes: Readonly<Record<string, unknown>> }[];
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly scope: Scope;
  readonly resource: Readonly<Record<string, unknown>>;
  readonly start: string;
  readonly end: string;
}

/** In the order in which it came. */
export interface Collected {
  readonly points: readonly CollectedPoint[];
  readonly logs: readonly CollectedLog[];
  readonly spans: readonly CollectedSpan[];
}
