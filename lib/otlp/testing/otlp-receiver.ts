import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import { once } from 'node:events';
import { type AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import protobuf from 'protobufjs';

/** The messages of OTLP that the exporters use, with the numbers of its published definition. */
const PROTO = `
syntax = "proto3";
message AnyValue { oneof value { string stringValue = 1; bool boolValue = 2; int64 intValue = 3; double doubleValue = 4;
  ArrayValue arrayValue = 5; KeyValueList kvlistValue = 6; bytes bytesValue = 7; } }
message ArrayValue { repeated AnyValue values = 1; }
message KeyValueList { repeated KeyValue values = 1; }
message KeyValue { string key = 1; AnyValue value = 2; }
message Scope { string name = 1; string version = 2; }
message Resource { repeated KeyValue attributes = 1; }
message Number { fixed64 start = 2; fixed64 time = 3; double asDouble = 4; sfixed64 asInt = 6; repeated KeyValue attributes = 7; }
message Histogram { fixed64 start = 2; fixed64 time = 3; fixed64 count = 4; double sum = 5; repeated fixed64 buckets = 6;
  repeated double bounds = 7; repeated KeyValue attributes = 9; double min = 11; double max = 12; }
message Gauge { repeated Number points = 1; }
message Sum { repeated Number points = 1; int32 temporality = 2; bool monotonic = 3; }
message Histograms { repeated Histogram points = 1; int32 temporality = 2; }
message Metric { string name = 1; string unit = 3; Gauge gauge = 5; Sum sum = 7; Histograms histogram = 9; }
message ScopeMetrics { Scope scope = 1; repeated Metric metrics = 2; }
message ResourceMetrics { Resource resource = 1; repeated ScopeMetrics scopes = 2; }
message MetricsRequest { repeated ResourceMetrics resources = 1; }
message LogRecord { fixed64 time = 1; int32 severity = 2; string severityText = 3; AnyValue body = 5;
  repeated KeyValue attributes = 6; fixed32 flags = 8; bytes traceId = 9; bytes spanId = 10; fixed64 observed = 11; }
message ScopeLogs { Scope scope = 1; repeated LogRecord records = 2; }
message ResourceLogs { Resource resource = 1; repeated ScopeLogs scopes = 2; }
message LogsRequest { repeated ResourceLogs resources = 1; }
message Event { fixed64 time = 1; string name = 2; repeated KeyValue attributes = 3; }
message Link { bytes traceId = 1; bytes spanId = 2; string traceState = 3; repeated KeyValue attributes = 4; fixed32 flags = 6; }
message Status { string message = 2; int32 code = 3; }
message Span { bytes traceId = 1; bytes spanId = 2; string traceState = 3; bytes parentSpanId = 4; string name = 5;
  int32 kind = 6; fixed64 start = 7; fixed64 end = 8; repeated KeyValue attributes = 9; repeated Event events = 11;
  repeated Link links = 13; Status status = 15; fixed32 flags = 16; }
message ScopeSpans { Scope scope = 1; repeated Span spans = 2; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scopes = 2; }
message SpansRequest { repeated ResourceSpans resources = 1; }
`;
const { root } = protobuf.parse(PROTO, { keepCase: true });

interface Value {
  readonly arrayValue?: { readonly values?: readonly Value[] };
  readonly kvlistValue?: { readonly values?: readonly KeyValue[] };
  readonly [kind: string]: unknown;
}
interface KeyValue {
  readonly key: string;
  readonly value?: Value;
}
interface WirePoint {
  readonly start: string;
  readonly time: string;
  readonly asDouble?: number;
  readonly count?: string;
  readonly sum?: number;
  readonly min?: number;
  readonly max?: number;
  readonly buckets?: readonly string[];
  readonly bounds?: readonly number[];
  readonly attributes?: readonly KeyValue[];
}
interface Points {
  readonly points?: readonly WirePoint[];
  readonly temporality?: number;
  readonly monotonic?: boolean;
}
interface WireMetric {
  readonly name: string;
  readonly unit?: string;
  readonly gauge?: Points;
  readonly sum?: Points;
  readonly histogram?: Points;
}
interface WireLog {
  readonly time: string;
  readonly observed: string;
  readonly severity: number;
  readonly severityText: string;
  readonly body: Value;
  readonly attributes?: readonly KeyValue[];
}
interface WireSpan {
  readonly name: string;
  readonly attributes?: readonly KeyValue[];
}
interface WireResource<T> {
  readonly resources?: readonly {
    readonly resource: { readonly attributes: readonly KeyValue[] };
    readonly scopes?: readonly T[];
  }[];
}

export interface ReceivedPoint {
  readonly name: string;
  readonly unit: string;
  readonly kind: 'gauge' | 'sum' | 'histogram';
  readonly temporality: number | undefined;
  readonly start: string;
  readonly time: string;
  readonly attributes: Record<string, unknown>;
  /** A number, or what a histogram has counted. */
  readonly value: unknown;
}

export interface ReceivedLog {
  readonly scope: string;
  readonly time: string;
  readonly observed: string;
  readonly severity: number;
  readonly severityText: string;
  readonly body: unknown;
  readonly attributes: Record<string, unknown>;
}

export interface ReceivedSpan {
  readonly name: string;
  readonly attributes: Record<string, unknown>;
}

export interface ReceivedRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly resource: Record<string, unknown>;
  readonly points: readonly ReceivedPoint[];
  readonly logs: readonly ReceivedLog[];
  readonly spans: readonly ReceivedSpan[];
}

function plain(value: Value | undefined): unknown {
  if (value?.arrayValue !== undefined) return (value.arrayValue.values ?? []).map(plain);
  if (value?.kvlistValue !== undefined) return attributesOf(value.kvlistValue.values);
  const [inner = null] = Object.values(value ?? {});
  return value?.['intValue'] === undefined ? inner : Number(inner);
}

const attributesOf = (pairs: readonly KeyValue[] = []): Record<string, unknown> =>
  Object.fromEntries(pairs.map(({ key, value }) => [key, plain(value)]));

/** A whole request as it stands on the wire: `LogsRequest`, `MetricsRequest` or `SpansRequest`. */
export const decode = (message: string, body: Uint8Array): unknown => {
  const type = root.lookupType(message);
  return type.toObject(type.decode(body), { longs: String, bytes: String });
};

/** Reads an export request of any signal. */
export function decodeRequest(
  path: string,
  headers: Readonly<Record<string, unknown>>,
  body: Uint8Array,
): ReceivedRequest {
  const message = /logs/i.test(path) ? 'LogsRequest' : /trace/i.test(path) ? 'SpansRequest' : 'MetricsRequest';
  const { resources = [] } = decode(message, body) as WireResource<{
    readonly scope: { readonly name: string };
    readonly metrics?: readonly WireMetric[];
    readonly records?: readonly WireLog[];
    readonly spans?: readonly WireSpan[];
  }>;
  const scopes = resources.flatMap((resource) => resource.scopes ?? []);
  return {
    path,
    headers,
    resource: attributesOf(resources[0]?.resource.attributes),
    points: scopes.flatMap(({ metrics = [] }) => metrics.flatMap(pointsOf)),
    logs: scopes.flatMap(({ scope, records = [] }) =>
      records.map((record) => ({
        scope: scope.name,
        time: record.time,
        observed: record.observed,
        severity: record.severity,
        severityText: record.severityText,
        body: plain(record.body),
        attributes: attributesOf(record.attributes),
      })),
    ),
    spans: scopes.flatMap(({ spans = [] }) =>
      spans.map(({ name, attributes }) => ({ name, attributes: attributesOf(attributes) })),
    ),
  };
}

function pointsOf({ name, unit = '', gauge, sum, histogram }: WireMetric): ReceivedPoint[] {
  const kind = gauge === undefined ? (sum === undefined ? 'histogram' : 'sum') : 'gauge';
  const { points = [], temporality } = gauge ?? sum ?? histogram ?? {};
  return points.map((point) => ({
    name,
    unit,
    kind,
    temporality,
    start: point.start,
    time: point.time,
    attributes: attributesOf(point.attributes),
    value:
      kind === 'histogram'
        ? {
            count: Number(point.count),
            sum: point.sum,
            min: point.min,
            max: point.max,
            bounds: point.bounds ?? [],
            buckets: point.buckets?.map(Number),
          }
        : point.asDouble,
  }));
}

export type Answer = (response: ServerResponse, request: ReceivedRequest) => void;

export const answer =
  (status: number, headers: Record<string, string> = {}, body: string | Uint8Array = ''): Answer =>
  (response) => {
    response.writeHead(status, headers).end(body);
  };
export const ok = answer(200);
export const hang: Answer = () => undefined;
export const reset: Answer = (response) => response.socket?.resetAndDestroy();

/** A real OTLP/HTTP server, with `tls` over HTTPS. What it answers to the next requests stands in `next`; then all is well. */
export class OtlpReceiver implements AsyncDisposable {
  readonly requests: ReceivedRequest[] = [];
  /** Those that it has acknowledged. */
  readonly accepted: ReceivedRequest[] = [];
  next: Answer[] = [];
  /** Answers to all requests for which `next` has none. */
  always: Answer = ok;
  readonly #server: Server;
  readonly #scheme: string;

  constructor(tls?: ServerOptions) {
    const listener: RequestListener = (request, response) => void this.#receive(request, response);
    this.#server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
    this.#scheme = tls === undefined ? 'http' : 'https';
  }

  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `${this.#scheme}://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = Buffer.concat(await request.toArray());
    const plainBody = request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body;
    const received = decodeRequest(request.url ?? '', request.headers, plainBody);
    this.requests.push(received);
    (this.next.shift() ?? this.always)(response, received);
    if (response.statusCode === 200 && response.writableEnded) this.accepted.push(received);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
