import { randomUUID } from 'node:crypto';
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData, status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { compileReadings } from './compile-readings.ts';
import { Contribution } from './contribution.ts';
import { OtlpEmitter } from './otlp-emitter.ts';
import { createExporters, type OtlpSettings } from './otlp-exporters.ts';
import { createResource } from '../../lib/otlp/resource.ts';
import { SelfTelemetry } from './self-telemetry.ts';
import { measuredSource } from './testing/measured-source.ts';
import {
  answer,
  decodeRequest,
  hang,
  OtlpReceiver,
  type ReceivedLog,
  type ReceivedPoint,
  type ReceivedRequest,
  reset,
} from '../../lib/otlp/testing/otlp-receiver.ts';
import { ClientTls } from '../../crds/config/scraper-file/tls.ts';

const START = Date.parse('2025-01-01T00:00:00Z');
const OBSERVED = 1_700_000_000_000_000_123n;
const ENV = { OTEL_EXPORTER_OTLP_TIMEOUT: '300', OTEL_RESOURCE_ATTRIBUTES: 'team=a%20b,service.name=x' };
const never = new AbortController().signal;

let receiver: OtlpReceiver;
let emitter: OtlpEmitter;
let warnings: string[];
let url: string;

beforeEach(async () => {
  receiver = new OtlpReceiver();
  url = await receiver.listen();
  warnings = [];
  emitter = await open();
});
afterEach(async () => {
  receiver.always = answer(200);
  await emitter.close();
  await receiver[Symbol.asyncDispose]();
});

async function open(
  more: Partial<OtlpSettings> = {},
  env: Record<string, string> = ENV,
  refreshMs = 0,
  now = () => new Date(START),
) {
  const settings: OtlpSettings = {
    otelCollectorEndpoint: `${url}/`,
    otelTransport: 'http',
    otelHeaders: { 'X-Token': 't' },
    otelCompression: 'none',
    otelTls: ClientTls.parse({}),
    enforceTls: false,
    ...more,
  };
  return new OtlpEmitter({
    exporters: await createExporters(settings, env),
    resource: createResource('svc', randomUUID(), env),
    now,
    refreshMs,
    warn: (message) => warnings.push(message),
  });
}

const FIELDS = {
  gaugeReadings: [{ name: 'g', dataKey: 'v', unit: 'ms' }],
  counterReadings: [
    { name: 'c', dataKey: 'v' },
    { name: 't', dataKey: 'total', cumulative: true },
  ],
  histogramReadings: [{ name: 'h', dataKey: 'v', buckets: [1, 5] }],
  attributes: [{ name: 'a', dataKey: 'a' }],
  emitLogs: false,
};

function contribution(records: readonly unknown[], fields: Record<string, unknown> = {}): Contribution {
  const into = new Contribution();
  compileReadings(measuredSource({ ...FIELDS, ...fields }), () => undefined)(records, {}, into, { observed: OBSERVED });
  return into;
}

const emit = (...contributions: Contribution[]): Promise<void> => emitter.emit(contributions, never);
const pointsOf = (requests: readonly ReceivedRequest[]): ReceivedPoint[] => requests.flatMap(({ points }) => points);
const logsOf = (requests: readonly ReceivedRequest[]): ReceivedLog[] => requests.flatMap(({ logs }) => logs);
/** The last acknowledged value of each metric. */
const latest = (): Record<string, unknown> =>
  Object.fromEntries(pointsOf(receiver.accepted).map(({ name, value }) => [name, value]));

test('points arrive with names, units, kinds, attributes, buckets and the resource', async () => {
  await emit(
    contribution([
      { v: 2, a: 'x', total: 10 },
      { v: 7, a: 'x', total: 13 },
      { v: 1, a: null },
    ]),
  );
  const [request] = receiver.requests;
  expect(request).toMatchObject({
    path: '/v1/metrics',
    headers: { 'x-token': 't', 'content-type': 'application/x-protobuf' },
    resource: { 'service.name': 'svc', team: 'a b', 'service.instance.id': expect.stringMatching(/^[\da-f-]{36}$/) },
  });
  const x = { source: 's', a: 'x' };
  const start = `${START}000000`;
  const time = start;
  const cumulative = { start, time, temporality: 2 };
  const histogram = (of: object) => expect.objectContaining({ bounds: [1, 5], ...of });
  expect(request?.points).toEqual([
    { name: 'g', unit: 'ms', kind: 'gauge', temporality: undefined, start, time, attributes: x, value: 7 },
    {
      name: 'g',
      unit: 'ms',
      kind: 'gauge',
      temporality: undefined,
      start,
      time,
      attributes: { source: 's' },
      value: 1,
    },
    { name: 'c', unit: '1', kind: 'sum', ...cumulative, attributes: x, value: 9 },
    { name: 'c', unit: '1', kind: 'sum', ...cumulative, attributes: { source: 's' }, value: 1 },
    { name: 't', unit: '1', kind: 'sum', ...cumulative, attributes: x, value: 3 },
    {
      name: 'h',
      unit: '1',
      kind: 'histogram',
      ...cumulative,
      attributes: x,
      value: histogram({ count: 2, sum: 9, min: 2, max: 7, buckets: [0, 1, 1] }),
    },
    {
      name: 'h',
      unit: '1',
      kind: 'histogram',
      ...cumulative,
      attributes: { source: 's' },
      value: histogram({ count: 1, sum: 1, buckets: [1, 0, 0] }),
    },
  ]);
});

test('sums go on from one window to the next, running totals by what they grew, and a fall is a new start', async () => {
  await emit(contribution([{ v: 1, total: 100 }]));
  expect(latest()).toMatchObject({ c: 1, t: 0 });
  await emit(contribution([{ v: 2, total: 130 }]));
  expect(latest()).toMatchObject({ c: 3, t: 30, h: { count: 2, sum: 3, buckets: [1, 1, 0] } });
  await emit(contribution([{ v: 4, total: 5 }]));
  expect(latest()).toMatchObject({ c: 7, t: 35 });
});

test.each([
  ['429 with a Retry-After', answer(429, { 'retry-after': '7' }), { retryable: true, retryAfterMs: 7000 }],
  ['503', answer(503), { retryable: true, retryAfterMs: undefined }],
  ['500', answer(500), { retryable: true }],
  ['401', answer(401), { retryable: true }],
  ['400', answer(400, {}, 'bad'), { retryable: false }],
  ['no answer', hang, { retryable: true }],
  ['a reset', reset, { retryable: true }],
])('%s rejects, and a retry adds nothing twice', async (_, fault, failure) => {
  await emit(contribution([{ v: 1, total: 1 }]));
  receiver.always = fault;
  const again = contribution([{ v: 2, total: 4 }]);
  await expect(emit(again)).rejects.toMatchObject({ name: 'ExportFailure', ...failure });
  await expect(emit(again)).rejects.toMatchObject({ name: 'ExportFailure' });
  receiver.always = answer(200);
  await emit(again);
  expect(latest()).toMatchObject({ c: 3, t: 3, h: { count: 2, sum: 3 } });
});

test('sums never fall after an acknowledgement was lost, whatever is sent next', async () => {
  await emit(contribution([{ v: 1 }]));
  const [lost, next] = [contribution([{ v: 10 }]), contribution([{ v: 100 }])];
  receiver.next = [answer(504)];
  await expect(emit(lost)).rejects.toMatchObject({ mayHaveArrived: true });
  await emit(next);
  await emit(lost);
  await emit(contribution([{ v: 1000 }]));
  const sums = pointsOf(receiver.requests).filter(({ name }) => name === 'c');
  expect(sums.map(({ value }) => value)).toEqual([1, 11, 111, 1111]);
});

test('what will not be sent again leaves the sums, which begin anew', async () => {
  let clock = START;
  const other = await open({}, ENV, 0, () => new Date((clock += 1000)));
  const lost = contribution([{ v: 10 }]);
  receiver.next = [answer(504)];
  await expect(other.emit([lost], never)).rejects.toMatchObject({ mayHaveArrived: true });
  other.giveUp(lost);
  await other.emit([contribution([{ v: 10 }])], never);
  const [before, after] = pointsOf(receiver.requests).filter(({ name }) => name === 'c');
  expect([before?.value, after?.value]).toEqual([10, 10]);
  expect(BigInt(after?.start ?? 0)).toBeGreaterThan(BigInt(before?.start ?? 0));
  await other.close();
});

test('what is in doubt and then refused takes nothing else along', async () => {
  const lost = contribution([{ v: 666 }]);
  receiver.next = [answer(504)];
  await expect(emit(lost)).rejects.toMatchObject({ mayHaveArrived: true });
  receiver.always = (response, { points }) => {
    response.writeHead(points.some(({ value }) => Number(value) >= 666) ? 400 : 200).end();
  };
  await emit(contribution([{ v: 1 }]));
  expect(latest()).toMatchObject({ c: 1 });
  await expect(emit(lost)).rejects.toMatchObject({ retryable: false });
});

test('a collector that is away rejects', async () => {
  const other = await open({ otelCollectorEndpoint: 'http://127.0.0.1:1' });
  await expect(other.emit([contribution([{ v: 1 }])], never)).rejects.toMatchObject({
    retryable: true,
    mayHaveArrived: false,
  });
  await other.close();
});

test('a failure of the logs does not add the metrics twice', async () => {
  const logged = contribution([{ v: 1 }], { emitLogs: true });
  receiver.next = [answer(200), answer(500)];
  await expect(emit(logged)).rejects.toThrow('500');
  await emit(logged);
  expect(latest()).toMatchObject({ c: 1 });
  await emit(contribution([{ v: 2 }]));
  expect(latest()).toMatchObject({ c: 3 });
});

test('log records arrive with body, severity, times and attributes', async () => {
  const fields = { emitLogs: true, timestampKey: 'at', logStatusField: { name: 'l', warning: { value: 'w' } } };
  const record = { l: 'w', at: 1, a: [1, 'x'], deep: { n: null, f: 1.5, big: -3 } };
  await emit(contribution([record, {}], fields));
  expect(logsOf(receiver.accepted)).toEqual([
    {
      scope: 's',
      time: '1000000000',
      observed: String(OBSERVED),
      severity: 13,
      severityText: 'WARNING',
      body: { source: 's', record },
      attributes: { source: 's', a: [1, 'x'] },
    },
    expect.objectContaining({ time: String(OBSERVED), severity: 9, attributes: { source: 's' } }),
  ]);
});

test('5,000 log records arrive in batches, each once, also when the collector takes fewer at a time', async () => {
  const records = Array.from({ length: 5000 }, (_, i) => ({ i }));
  receiver.always = (response, { logs }) => {
    response.writeHead(logs.length > 300 ? 413 : 200).end();
  };
  const patient = await open({}, {});
  await patient.emit([contribution(records, { emitLogs: true })], never);
  await patient.close();
  const seen = logsOf(receiver.accepted).map(({ body }) => (body as { record: { i: number } }).record.i);
  expect(seen.toSorted((a, b) => a - b)).toEqual(records.map(({ i }) => i));
});

test('emitting the same contribution again starts behind the log records that were acknowledged', async () => {
  const one = contribution(
    Array.from({ length: 600 }, (_, i) => ({ i })),
    { emitLogs: true },
  );
  receiver.next = [(response, { logs }) => response.writeHead(logs.length === 512 ? 200 : 500).end()];
  receiver.next.push(...receiver.next);
  await expect(emit(one)).rejects.toThrow('500');
  await emit(one);
  expect(logsOf(receiver.accepted)).toHaveLength(600);
});

test('what is refused behind a part that has arrived may come again', async () => {
  const patient = await open({}, {});
  const points = contribution(Array.from({ length: 5001 }, (_, a) => ({ v: 1, a })));
  receiver.always = (response, { points: { length } }) => void response.writeHead(length < 5000 ? 400 : 200).end();
  await expect(patient.emit([points], never)).rejects.toMatchObject({ retryable: false, mayHaveArrived: true });
  patient.giveUp(points);

  const logs = contribution(
    Array.from({ length: 600 }, (_, i) => ({ i })),
    { emitLogs: true },
  );
  receiver.always = (response, { logs: { length } }) => void response.writeHead(length === 512 ? 400 : 200).end();
  await expect(patient.emit([logs], never)).rejects.toMatchObject({ retryable: false, mayHaveArrived: true });
  await patient.close();
});

test('what waits goes together, and what the collector refuses takes nothing else along', async () => {
  receiver.always = (response, { points }) => {
    response.writeHead(points.some(({ value }) => value === 666) ? 400 : 200).end();
  };
  const all = [1, 666, 2, 3].map((v) => emit(contribution([{ v, a: v }])));
  const results = await Promise.allSettled(all);
  expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
  expect(
    pointsOf(receiver.accepted)
      .filter(({ name }) => name === 'c')
      .map(({ value }) => Number(value))
      .toSorted((a, b) => a - b),
  ).toEqual([1, 2, 3]);
});

test('a window that is given up adds nothing, though its export arrived', async () => {
  const controller = new AbortController();
  receiver.next = [
    (response) => {
      controller.abort(new Error('stop'));
      setTimeout(() => response.writeHead(200).end(), 20);
    },
  ];
  await expect(emitter.emit([contribution([{ v: 5 }])], controller.signal)).rejects.toThrow('stop');
  await emit(contribution([{ v: 5 }]));
  expect(latest()).toMatchObject({ c: 5 });
});

test('the limit of series holds over all windows', async () => {
  for (const a of [1, 2, 3, 4, 1]) await emit(contribution([{ v: 1, a }], { maxSeries: 2 }));
  const sums = pointsOf(receiver.accepted).filter(({ name }) => name === 'c');
  expect(sums.map(({ attributes, value }) => [attributes['a'] ?? attributes['otel.metric.overflow'], value])).toEqual([
    [1, 1],
    [2, 1],
    [true, 1],
    [true, 2],
    [1, 2],
  ]);
});

test('a part that the collector has refused is told', async () => {
  // partial_success { rejected_data_points: 3, error_message: "no" }
  const body = Uint8Array.from([10, 6, 8, 3, 18, 2, 110, 111]);
  receiver.next = [answer(200, { 'content-type': 'application/x-protobuf' }, body)];
  await emit(contribution([{ v: 1 }]));
  expect(warnings).toEqual([expect.stringContaining('"rejectedDataPoints":3')]);
});

test('gzip, and only what is added where the environment asks for it', async () => {
  process.env['OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE'] = 'delta';
  const delta = await open({ otelCompression: 'gzip' }).finally(() => {
    delete process.env['OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE'];
  });
  await delta.emit([contribution([{ v: 1, total: 5 }])], never);
  await delta.emit([contribution([{ v: 2, total: 9 }])], never);
  expect(latest()).toMatchObject({ c: 2, t: 4, h: { count: 1, sum: 2 } });
  expect(receiver.requests[1]).toMatchObject({ headers: { 'content-encoding': 'gzip' } });
  expect(
    pointsOf(receiver.requests)
      .filter(({ kind }) => kind !== 'gauge')
      .every((p) => p.temporality === 1),
  ).toBe(true);
  await delta.close();
});

test('sums are sent again from time to time, gauges are not', async () => {
  const other = await open({}, ENV, 30);
  await other.emit([contribution([{ v: 1 }])], never);
  await expect.poll(() => receiver.accepted.length).toBeGreaterThan(1);
  expect(receiver.accepted[1]?.points.map(({ name }) => name)).toEqual(['c', 'h']);
  await other.close();
});

test('self-telemetry has the names of the code and of the documentation, and waits for a collector', async () => {
  const self = new SelfTelemetry(emitter, () => new Date(START));
  const run = { source: 's', status: 'success', apiType: 'range', durationSeconds: 3, records: 5 } as const;
  self.ran(run);
  self.deduped({ source: 's', apiType: 'range', hits: 1, misses: 3 });
  self.cleanedUp({ job: 'orphan_cleanup', backend: 'sqlite', durationSeconds: 1, items: 2 });
  receiver.next = [answer(500)];
  await expect(self.flush(never)).rejects.toThrow('500');
  self.ran({ ...run, status: 'error' });
  await self.flush(never);
  expect(latest()).toMatchObject({
    scraper_runs_total: 1,
    scraper_scrape_total: 1,
    scraper_run_duration_seconds: { count: 1, sum: 3 },
    scraper_scrape_duration_seconds: { count: 1 },
    scraper_last_run_duration_seconds: 3,
    scraper_last_scrape_duration_seconds: 3,
    scraper_records_emitted_total: 5,
    scraper_last_records_emitted: 5,
    scraper_dedupe_total: 4,
    scraper_dedupe_hit_rate: 0.25,
    scraper_cleanup_items_total: 2,
    scraper_cleanup_last_items: 2,
  });
  expect(logsOf(receiver.accepted).map(({ scope, severity, body }) => [scope, severity, body])).toEqual([
    ['scraper.self', 9, { source: 's', status: 'success', duration_seconds: 3, record_count: 5 }],
    ['scraper.self', 17, { source: 's', status: 'error', duration_seconds: 3, record_count: 5 }],
  ]);
});

describe('over grpc', () => {
  const requests: ReceivedRequest[] = [];
  let code: status | undefined;
  let server: Server;
  let port: number;

  beforeEach(async () => {
    requests.length = 0;
    code = undefined;
    server = new Server();
    for (const [name, signal] of [
      ['Metrics', 'metrics'],
      ['Logs', 'logs'],
    ] as const) {
      const path = `/opentelemetry.proto.collector.${signal}.v1.${name}Service/Export`;
      const pass = (value: Buffer): Buffer => value;
      const definition = {
        path,
        requestStream: false,
        responseStream: false,
        requestSerialize: pass,
        requestDeserialize: pass,
        responseSerialize: pass,
        responseDeserialize: pass,
      };
      server.addService(
        { Export: definition },
        {
          Export: (call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>) => {
            if (code !== undefined) return done({ code, details: 'no' });
            requests.push(decodeRequest(path, { ...call.metadata.getMap() }, call.request));
            return done(null, Buffer.alloc(0));
          },
        },
      );
    }
    port = await new Promise((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      );
    });
  });
  afterEach(() => server.forceShutdown());

  test('points and logs arrive, and a failure adds nothing', async () => {
    const grpc = await open({ otelTransport: 'grpc', otelCollectorEndpoint: `127.0.0.1:${port}` });
    const one = (): Contribution => contribution([{ v: 2 }], { emitLogs: true });
    await grpc.emit([one()], never);
    code = status.INVALID_ARGUMENT;
    await expect(grpc.emit([one()], never)).rejects.toMatchObject({ retryable: false });
    code = status.UNAVAILABLE;
    const second = one();
    await expect(grpc.emit([second], never)).rejects.toMatchObject({ retryable: true });
    code = undefined;
    await grpc.emit([second], never);
    expect(
      pointsOf(requests)
        .filter(({ name }) => name === 'c')
        .map(({ value }) => value),
    ).toEqual([2, 4]);
    expect(logsOf(requests)).toHaveLength(2);
    expect(requests[0]?.headers).toMatchObject({ 'x-token': 't' });
    await grpc.close();
  });
});
