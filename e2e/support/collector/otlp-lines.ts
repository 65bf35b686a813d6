import { open } from 'node:fs/promises';

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
}

/** In the order in which it came. */
export interface Collected {
  readonly points: readonly CollectedPoint[];
  readonly logs: readonly CollectedLog[];
}

/** Reads the file of the collector, which holds an export request as a line of OTLP's JSON; each line only once. */
export class OtlpLines {
  readonly #file: string;
  readonly #points: CollectedPoint[] = [];
  readonly #logs: CollectedLog[] = [];
  #offset = 0;
  #reading: Promise<void> | undefined;

  constructor(file: string) {
    this.#file = file;
  }

  async read(): Promise<Collected> {
    await (this.#reading ??= this.#readNew().finally(() => (this.#reading = undefined)));
    return { points: this.#points, logs: this.#logs };
  }

  async #readNew(): Promise<void> {
    const file = await open(this.#file).catch(() => undefined);
    if (file === undefined) return;
    try {
      const { size } = await file.stat();
      const bytes = Buffer.alloc(size - this.#offset);
      await file.read(bytes, 0, bytes.length, this.#offset);
      // The last line may be half written.
      const end = bytes.lastIndexOf('\n') + 1;
      this.#offset += end;
      for (const line of bytes.toString('utf8', 0, end).split('\n')) if (line !== '') this.#take(line);
    } finally {
      await file.close();
    }
  }

  #take(line: string): void {
    const { resourceMetrics = [], resourceLogs = [] } = JSON.parse(line) as Line;
    for (const { resource, scopeMetrics = [] } of resourceMetrics) {
      const of = plainMap(resource?.attributes);
      for (const { scope, metrics = [] } of scopeMetrics) {
        for (const metric of metrics) this.#points.push(...pointsOf(metric, scopeOf(scope), of));
      }
    }
    for (const { resource, scopeLogs = [] } of resourceLogs) {
      const of = plainMap(resource?.attributes);
      for (const { scope, logRecords = [] } of scopeLogs) {
        for (const record of logRecords) this.#logs.push(logOf(record, scopeOf(scope), of));
      }
    }
  }
}

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
}
interface Of {
  readonly resource?: { readonly attributes?: readonly KeyValue[] };
}
interface Line {
  readonly resourceMetrics?: readonly (Of & {
    readonly scopeMetrics?: readonly { readonly scope?: Partial<Scope>; readonly metrics?: readonly Metric[] }[];
  })[];
  readonly resourceLogs?: readonly (Of & {
    readonly scopeLogs?: readonly { readonly scope?: Partial<Scope>; readonly logRecords?: readonly LogRecord[] }[];
  })[];
}

const scopeOf = ({ name = '', version = '' }: Partial<Scope> = {}): Scope => ({ name, version });

const plainMap = (pairs: readonly KeyValue[] = []): Record<string, unknown> =>
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

function pointsOf(
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

const logOf = (record: LogRecord, scope: Scope, resource: CollectedLog['resource']): CollectedLog => ({
  body: record.body === undefined ? null : plain(record.body),
  attributes: plainMap(record.attributes),
  severity: record.severityNumber ?? 0,
  severityText: record.severityText ?? '',
  scope,
  resource,
  time: record.timeUnixNano ?? '0',
  observed: record.observedTimeUnixNano ?? '0',
});
