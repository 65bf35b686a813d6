/** Pure: what an OTLP export holds, as protobuf or JSON. */

export interface MetricSum {
  readonly points: number;
  /** Values of all points together: of a histogram how many values it counted. */
  readonly total: number;
}

export type ExportKind = 'metrics' | 'logs' | 'traces';

export interface Exported {
  readonly logs: number;
  readonly spans: number;
  readonly metrics: ReadonlyMap<string, MetricSum>;
}

/** @throws when the body is not what it says */
export function readExport(kind: ExportKind, body: Buffer, isJson: boolean): Exported {
  if (isJson) return readJson(JSON.parse(body.toString()) as JsonExport);
  const records = nested(body, [1, 2, 2]);
  const nothing: Exported = { logs: 0, spans: 0, metrics: new Map() };
  if (kind === 'logs') return { ...nothing, logs: records.length };
  if (kind === 'traces') return { ...nothing, spans: records.length };
  return { ...nothing, metrics: new Map(records.map(readMetric)) };
}

interface JsonPoint {
  readonly asDouble?: number;
  readonly asInt?: number | string;
  readonly count?: number | string;
}

interface JsonExport {
  readonly resourceLogs?: readonly { readonly scopeLogs: readonly { readonly logRecords: readonly unknown[] }[] }[];
  readonly resourceSpans?: readonly { readonly scopeSpans: readonly { readonly spans: readonly unknown[] }[] }[];
  readonly resourceMetrics?: readonly {
    readonly scopeMetrics: readonly {
      readonly metrics: readonly ({ readonly name: string } & Record<
        'gauge' | 'sum' | 'histogram',
        { readonly dataPoints: readonly JsonPoint[] } | undefined
      >)[];
    }[];
  }[];
}

function readJson({ resourceLogs = [], resourceSpans = [], resourceMetrics = [] }: JsonExport): Exported {
  const scopes = resourceLogs.flatMap(({ scopeLogs }) => scopeLogs);
  const metrics = resourceMetrics.flatMap(({ scopeMetrics }) => scopeMetrics).flatMap((scope) => scope.metrics);
  return {
    logs: scopes.reduce((sum, { logRecords }) => sum + logRecords.length, 0),
    spans: resourceSpans.flatMap(({ scopeSpans }) => scopeSpans).reduce((sum, { spans }) => sum + spans.length, 0),
    metrics: new Map(
      metrics.map(({ name, gauge, sum, histogram }) => {
        const points = (gauge ?? sum ?? histogram)?.dataPoints ?? [];
        const values = points.map(({ asDouble, asInt, count }) => Number(asDouble ?? asInt ?? count ?? 0));
        return [name, { points: points.length, total: values.reduce((all, value) => all + value, 0) }];
      }),
    ),
  };
}

/** Fields of Metric that hold points: gauge, sum, histogram. In all of them the points are field 1. */
const POINTS = { 5: 'number', 7: 'number', 9: 'histogram' } as const;

function readMetric(metric: Buffer): [name: string, sum: MetricSum] {
  let name = '';
  let points = 0;
  let total = 0;
  for (const field of fields(metric)) {
    if (field.number === 1) name = field.bytes.toString();
    const kind = POINTS[field.number as keyof typeof POINTS];
    if (kind === undefined) continue;
    for (const point of nested(field.bytes, [1])) {
      points++;
      total += valueOf(point, kind);
    }
  }
  return [name, { points, total }];
}

function valueOf(point: Buffer, kind: 'number' | 'histogram'): number {
  for (const { number, bytes } of fields(point)) {
    if (number === 4) return kind === 'number' ? bytes.readDoubleLE() : Number(bytes.readBigUInt64LE());
    if (number === 6 && kind === 'number') return Number(bytes.readBigInt64LE());
  }
  return 0;
}

/** All messages at a path of field numbers. */
function nested(message: Buffer, path: readonly number[]): Buffer[] {
  const [first, ...rest] = path;
  if (first === undefined) return [message];
  return fields(message).flatMap(({ number, bytes }) => (number === first ? nested(bytes, rest) : []));
}

interface Field {
  readonly number: number;
  /** Empty for a variable-length integer, which nothing here needs. */
  readonly bytes: Buffer;
}

/** Fields of a protobuf message (the encoding's wire types 0, 1, 2 and 5). */
function fields(message: Buffer): Field[] {
  const found: Field[] = [];
  let at = 0;
  const integer = (): number => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = message[at++];
      if (byte === undefined) throw new Error('a message that is cut off');
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  };
  while (at < message.length) {
    const tag = integer();
    const wire = tag % 8;
    if (wire === 0) integer();
    const length = wire === 0 ? 0 : wire === 1 ? 8 : wire === 5 ? 4 : wire === 2 ? integer() : Number.NaN;
    if (!(at + length <= message.length)) throw new Error(`not a protobuf message: wire type ${wire}`);
    found.push({ number: Math.floor(tag / 8), bytes: message.subarray(at, at + length) });
    at += length;
  }
  return found;
}
