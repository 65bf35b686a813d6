import type { CollectedLog, CollectedPoint, CollectedSpan, Histogram, Scope } from './collected.ts';

interface Value {
  readonly stringValue?: string;
  readonly boolValue?: boolean;
  readonly intValue?: string;
  readonly doubleValue?: number;
  readonly arrayValue?: { readonly values?: readonly Value[] };
  readonly kvlistValue?: { readonly values?: readonly KeyValue[] };
}
interface KeyValue {
  readonly key: string;
  readonly value: Value;
}
interface WirePoint {
  readonly attributes?: readonly KeyValue[];
  readonly startTimeUnixNano?: string;
  readonly timeUnixNano: string;
  readonly asDouble?: number;
  readonly asInt?: string;
  readonly count?: string;
  readonly sum?: number;
  readonly min?: number;
  readonly max?: number;
  readonly bucketCounts?: readonly string[];
  readonly explicitBounds?: readonly number[];
}
interface Points {
  readonly dataPoints?: readonly WirePoint[];
  readonly aggregationTemporality?: number;
  readonly isMonotonic?: boolean;
}
interface Metric {
  readonly name: string;
  readonly unit?: string;
  readonly gauge?: Points;
  readonly sum?: Points;
  readonly histogram?: Points;
}
interface LogRecord {
  readonly timeUnixNano?: string;
  readonly observedTimeUnixNano?: string;
  readonly severityNumber?: number;
  readonly severityText?: string;
  readonly body?: Value;
  readonly attributes?: readonly KeyValue[];
  readonly traceId?: string;
  readonly spanId?: string;
}
interface Span {
  readonly name?: string;
  readonly kind?: number;
  readonly traceId?: string;
  readonly spanId?: string;
  readonly parentSpanId?: string;
  readonly traceState?: string;
  readonly attributes?: readonly KeyValue[];
  readonly status?: { readonly code?: number; readonly message?: string };
  readonly events?: readonly { readonly name?: string; readonly attributes?: readonly KeyValue[] }[];
  readonly links?: readonly { readonly traceId?: string; readonly spanId?: string }[];
  readonly startTimeUnixNano?: string;
  readonly endTimeUnixNano?: string;
}
interface Of {
  readonly resource?: { readonly attributes?: readonly KeyValue[] };
}
/** An export request, whose kind its only member says. */
export interface Line {
  readonly resourceMetrics?: readonly (Of & {
    readonly scopeMetrics?: readonly { readonly scope?: Partial<Scope>; readonly metrics?: readonly Metric[] }[];
  })[];
  readonly resourceLogs?: readonly (Of & {
    readonly scopeLogs?: readonly { readonly scope?: Partial<Scope>; readonly logRecords?: readonly LogRecord[] }[];
  })[];
  readonly resourceSpans?: readonly (Of & {
    readonly scopeSpans?: readonly { readonly scope?: Partial<Scope>; readonly spans?: readonly Span[] }[];
  })[];
}

export const scopeOf = ({ name = '', version = '' }: Partial<Scope> = {}): Scope => ({ name, version });

export const plainMap = (pairs: readonly KeyValue[] = []): Record<string, unknown> =>
  Object.fromEntries(pairs.map(({ key, value }) => [key, plain(value)]));

/** An integer that no double can hold comes as a bigint. */
function plain(value: Value): unknown {
  if (value.intValue !== undefined) {
    return Number.isSafeInteger(Number(value.intValue)) ? Number(value.intValue) : BigInt(value.intValue);
  }
  if (value.arrayValue !== undefined) return (value.arrayValue.values ?? []).map(plain);
  if (value.kvlistValue !== undefined) return plainMap(value.kvlistValue.values);
  const [inner = null] = Object.values(value);
  return inner;
}

export function pointsOf(
  { name, unit = '', gauge, sum, histogram }: Metric,
  scope: Scope,
  resource: CollectedPoint['resource'],
): CollectedPoint[] {
  const kind = gauge === undefined ? (sum === undefined ? 'histogram' : 'sum') : 'gauge';
  const { dataPoints = [], aggregationTemporality, isMonotonic } = gauge ?? sum ?? histogram ?? {};
  return dataPoints.map((point) => ({
    name,
    unit,
    kind,
    ...(isMonotonic !== undefined && { monotonic: isMonotonic }),
    ...(aggregationTemporality !== undefined && { temporality: aggregationTemporality }),
    value: kind === 'histogram' ? histogramOf(point) : Number(point.asDouble ?? point.asInt),
    attributes: plainMap(point.attributes),
    scope,
    resource,
    start: point.startTimeUnixNano ?? '0',
    time: point.timeUnixNano,
  }));
}

const histogramOf = (point: WirePoint): Histogram => ({
  count: Number(point.count ?? 0),
  sum: point.sum ?? 0,
  min: point.min ?? 0,
  max: point.max ?? 0,
  bounds: point.explicitBounds ?? [],
  buckets: (point.bucketCounts ?? []).map(Number),
});

export const logOf = (record: LogRecord, scope: Scope, resource: CollectedLog['resource']): CollectedLog => ({
  body: record.body === undefined ? null : plain(record.body),
  attributes: plainMap(record.attributes),
  severity: record.severityNumber ?? 0,
  severityText: record.severityText ?? '',
  scope,
  resource,
  time: record.timeUnixNano ?? '0',
  observed: record.observedTimeUnixNano ?? '0',
  // Without a span they are empty.
  ...(record.traceId && { traceId: record.traceId }),
  ...(record.spanId && { spanId: record.spanId }),
});

const SPAN_KINDS = ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer'] as const;
const STATUS_CODES = ['unset', 'ok', 'error'] as const;

export const spanOf = (span: Span, scope: Scope, resource: CollectedSpan['resource']): CollectedSpan => ({
  name: span.name ?? '',
  kind: SPAN_KINDS[span.kind ?? 0] ?? 'unspecified',
  traceId: span.traceId ?? '',
  spanId: span.spanId ?? '',
  ...(span.parentSpanId && { parentSpanId: span.parentSpanId }),
  traceState: span.traceState ?? '',
  attributes: plainMap(span.attributes),
  status: { code: STATUS_CODES[span.status?.code ?? 0] ?? 'unset', message: span.status?.message ?? '' },
  events: (span.events ?? []).map(({ name = '', attributes }) => ({ name, attributes: plainMap(attributes) })),
  links: (span.links ?? []).map(({ traceId = '', spanId = '' }) => ({ traceId, spanId })),
  scope,
  resource,
  start: span.startTimeUnixNano ?? '0',
  end: span.endTimeUnixNano ?? '0',
});
