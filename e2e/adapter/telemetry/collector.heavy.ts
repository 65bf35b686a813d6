import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { METRIC_CATALOG } from '../../../adapter/telemetry/metrics/metric-catalog.ts';
import { type MetricDefinition, prometheusLabel, prometheusNames } from '../../../lib/metrics/metric-definition.ts';
import { type Collector, startCollector } from '../../support/collector/collector.ts';
import type { Collected, CollectedPoint } from '../../support/collector/collected.ts';
import { mutualTrust } from '../../support/collector/mutual-trust.ts';
import { needsCollector } from '../../support/collector/needs-collector.ts';
import { freePort } from '../../support/ports.ts';
import { buildPromtool, promtool, PROMTOOL_BUILD_MS, whyNoPromtool } from '../../support/promtool/promtool.ts';
import { startRedis } from '../../support/redis.ts';
import type { JsonObject } from '../../support/scripted-upstream/json-rpc.ts';
import { secret } from '../../support/secrets/secret.ts';
import { COUNTS } from './kit/counts.ts';
import { NAMES_OF_THE_ORIGINAL } from './kit/names-of-the-original.ts';
import { type Sample, scrape, total } from './kit/prometheus.ts';
import { differences, isSound, sumOf } from './kit/series.ts';
import { traffic } from './kit/traffic.ts';
import { startWatched, type Watched } from './kit/watched.ts';

needsCollector();

const TRANSPORTS = ['grpc', 'grpc with TLS', 'http', 'http with TLS'] as const;
type Transport = (typeof TRANSPORTS)[number];

/** What came over one transport, and what the adapter itself wrote meanwhile. */
interface Arrived extends Collected {
  readonly log: readonly JsonObject[];
  readonly exit: unknown;
}

const started = new AsyncDisposableStack();
const arrived = new Map<Transport, Arrived>();
/** What one of the adapters tells Prometheus. */
let scraped: Awaited<ReturnType<typeof scrape>>;

beforeAll(async () => {
  const trust = started.use(await mutualTrust());
  const redis = started.use(await startRedis({ requirepass: secret('password of Redis') }));
  const open = started.use(await startCollector());
  const secured = started.use(await startCollector({ tls: trust.server }));
  const env = {
    OTEL_EXPORTER_OTLP_CERTIFICATE: trust.client.caFile,
    OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: trust.client.certFile,
    OTEL_EXPORTER_OTLP_CLIENT_KEY: trust.client.keyFile,
  };
  const port = await freePort();
  const runs = await Promise.all(
    TRANSPORTS.map(async (transport) => {
      const isSecured = transport.endsWith('TLS');
      const collector = isSecured ? secured : open;
      const prometheus = { enabled: transport === TRANSPORTS[0], host: '127.0.0.1', port };
      const telemetry = { ...settings(collector, transport), service_name: transport, prometheus };
      return { transport, collector, watched: await startWatched(telemetry, redis, isSecured ? env : {}) };
    }),
  );
  for (const { watched } of runs) started.use(watched);
  await Promise.all(runs.map(({ watched }) => traffic(watched)));
  await allOf(runs, (points) => differences(points, COUNTS).length === 0);
  scraped = await scrape(`http://127.0.0.1:${port}/metrics`);
  // Only now, for without it next to nothing works.
  await redis.stop();
  await allOf(runs, (points) => sumOf(points, POLICY) === 1);
  await Promise.all(
    runs.map(async ({ transport, collector, watched: { adapter } }) => {
      const exit = await adapter.stop();
      arrived.set(transport, { ...only(await collector.collected(), transport), log: adapter.logs(), exit });
    }),
  );
});
afterAll(() => started.disposeAsync());

interface Run {
  readonly transport: Transport;
  readonly collector: Collector;
  readonly watched: Watched;
}

const POLICY = {
  metric: 'adapter_persistence_policy_transitions_total',
  attributes: { action: 'activate_fail_closed', policy: 'fail_closed', configured_backend: 'redis' },
};

function settings({ grpc, http }: Collector, transport: Transport): JsonObject {
  const isGrpc = transport.startsWith('grpc');
  // With grpc, `insecure` decides and the scheme says nothing.
  const elsewise = grpc.replace(/^https?/, (scheme) => (scheme === 'http' ? 'https' : 'http'));
  return {
    enabled: true,
    transport: isGrpc ? 'grpc' : 'http',
    endpoint: isGrpc ? elsewise : `${http}/v1/metrics`,
    logs_endpoint: isGrpc ? null : `${http}/v1/logs`,
    headers: { 'X-Key': secret('key of the collector') },
    insecure: !transport.endsWith('TLS'),
    export_interval_seconds: 0.5,
    emit_logs: true,
    log_batch_schedule_delay_millis: 300,
    traces: { enabled: true, endpoint: isGrpc ? null : `${http}/v1/traces` },
    service_namespace: 'e2e',
  };
}

/** Waits, in vain for a while: what has not come then is what the tests find. */
async function allOf(runs: readonly Run[], isSo: (points: readonly CollectedPoint[]) => boolean): Promise<void> {
  const limit = performance.now() + PATIENCE_MS;
  let waiting = runs;
  while (waiting.length > 0 && performance.now() < limit) {
    await delay(POLL_MS);
    const collected = await Promise.all(waiting.map(({ collector }) => collector.collected()));
    waiting = waiting.filter(({ transport }, i) => !isSo(only(collected[i] ?? expect.fail(), transport).points));
  }
}
const PATIENCE_MS = 10_000;
const POLL_MS = 500;

function only({ points, logs, spans }: Collected, transport: Transport): Collected {
  const isTheirs = ({ resource }: { resource: Collected['logs'][0]['resource'] }): boolean =>
    resource['service.name'] === transport;
  return { points: points.filter(isTheirs), logs: logs.filter(isTheirs), spans: spans.filter(isTheirs) };
}

const KINDS = { counter: 'sum', upDownCounter: 'sum', gauge: 'gauge', histogram: 'histogram' } as const;

/** What is wrong with the points of a metric. */
function problems(definition: MetricDefinition, points: readonly CollectedPoint[]): unknown[] {
  const { instrument, unit, attributes, bounds } = definition;
  const kind = KINDS[instrument];
  const seen = new Set(points.flatMap((point) => Object.keys(point.attributes)));
  const wrong = points.filter(
    (point) =>
      point.kind !== kind ||
      point.unit !== unit ||
      (kind !== 'gauge' && point.temporality !== 2) ||
      (kind === 'sum' && (point.monotonic ?? false) !== (instrument === 'counter')) ||
      Object.keys(point.attributes).some((name) => !attributes.includes(name)) ||
      (typeof point.value === 'number' ? Number.isNaN(point.value) : !isSound(point.value)) ||
      (typeof point.value !== 'number' && bounds !== undefined && point.value.bounds.join() !== bounds.join()),
  );
  const missing = attributes.filter((name) => !seen.has(name));
  const shown = wrong.slice(0, 2).map(({ resource: _r, scope: _s, ...point }) => JSON.stringify(point));
  return [...(points.length === 0 ? ['never came'] : missing), ...shown];
}

describe.each(TRANSPORTS)('over %s', (transport) => {
  const of = (): Arrived => arrived.get(transport) ?? expect.fail('it did not run');

  test('every metric of the catalog comes with its unit and its attributes, and no other', () => {
    const { points } = of();
    const found = METRIC_CATALOG.flatMap((definition) => {
      const wrong = problems(
        definition,
        points.filter(({ name }) => name === definition.name),
      );
      return wrong.length === 0 ? [] : [[definition.name, ...wrong]];
    });
    expect(found).toEqual([]);
    const known = new Set(METRIC_CATALOG.map(({ name }) => name));
    expect([...new Set(points.map(({ name }) => name).filter((name) => !known.has(name)))]).toEqual([]);
  });

  test('the names of the original come as they were', () => {
    const { points } = of();
    for (const [name, { kind, unit, attributes }] of Object.entries(NAMES_OF_THE_ORIGINAL)) {
      const shapes = points
        .filter((point) => point.name === name)
        .map((point) => ({ kind: point.kind, unit: point.unit, attributes: Object.keys(point.attributes).toSorted() }));
      const expected = { kind, unit, attributes: attributes.toSorted() };
      expect([name, new Set(shapes.map((shape) => JSON.stringify(shape)))]).toEqual([
        name,
        new Set([JSON.stringify(expected)]),
      ]);
    }
  });

  test('the numbers are those of what clients did', () => {
    const { points } = of();
    expect(differences(points, [...COUNTS, { ...POLICY, value: 1 }])).toEqual([]);
  });

  test('each line of the log comes as a record', () => {
    const { logs, log } = of();
    const requests = log.filter(({ msg }) => msg === 'request');
    expect(requests.length).toBeGreaterThan(30);
    const records = new Map(logs.map((record) => [record.attributes['request_id'], record]));
    for (const line of requests) {
      const record = records.get(line.request_id);
      expect(record).toMatchObject({ body: 'request', severityText: 'info', severity: 9 });
      expect(record?.attributes).toMatchObject({ status: line.status, http_method: line.http_method });
      const late = Number(BigInt(record?.time ?? 0) / 1_000_000n) - Date.parse(String(line.time));
      expect([late >= 0, late < 2_000]).toEqual([true, true]);
    }
    const warnings = log.filter(({ level }) => level === 'warning').map(({ msg }) => msg);
    const bodies = logs.filter(({ severity }) => severity === 13).map(({ body }) => body);
    expect(new Set(bodies)).toEqual(new Set(warnings));
  });

  test('spans come, and lines of the log name theirs', () => {
    const { spans, logs } = of();
    const call = spans.find(({ name, kind }) => name === 'tools/call echo' && kind === 'server') ?? expect.fail();
    expect(spans.some(({ parentSpanId, kind }) => parentSpanId === call.spanId && kind === 'client')).toBe(true);
    expect(logs.some(({ traceId, spanId }) => traceId === call.traceId && spanId === call.spanId)).toBe(true);
  });

  test('all of it says who sends it, and the adapter ends in order', () => {
    const { points, logs, spans, exit } = of();
    const instance = points[0]?.resource['service.instance.id'];
    expect(instance).toMatch(/^\S+$/);
    for (const { resource, scope } of [...points, ...logs, ...spans]) {
      expect(resource).toMatchObject({
        'service.name': transport,
        'service.namespace': 'e2e',
        'service.instance.id': instance,
        'service.version': expect.stringMatching(/^\d+\.\d+/),
      });
      expect(scope).toEqual({ name: 'remote_mcp_adapter', version: resource['service.version'] });
    }
    expect(exit).toEqual({ code: 0, signal: null });
  });
});

describe('the endpoint for Prometheus', () => {
  const SUFFIXES = ['_bucket', '_sum', '_count'];

  test('has every metric of the catalog, under the name that it has there', () => {
    const { text, samples } = scraped;
    const names = new Set(samples.map(({ name }) => name));
    const expected = METRIC_CATALOG.filter(({ name }) => name !== POLICY.metric).flatMap((definition) => {
      const [name = ''] = prometheusNames(definition);
      return definition.instrument === 'histogram' ? SUFFIXES.map((suffix) => name + suffix) : [name];
    });
    expect([...names].filter((name) => name !== 'target_info').toSorted()).toEqual(expected.toSorted());
    for (const definition of METRIC_CATALOG.filter(({ name }) => name !== POLICY.metric)) {
      const [name = ''] = prometheusNames(definition);
      const type = { upDownCounter: 'gauge', counter: 'counter', gauge: 'gauge', histogram: 'histogram' };
      expect(text).toContain(`# TYPE ${name} ${type[definition.instrument]}\n`);
      expect(text).toContain(`# HELP ${name} `);
    }
  });

  test('has the same numbers', () => {
    const instruments = new Map(METRIC_CATALOG.map((definition) => [definition.name, definition]));
    for (const { metric, attributes, value } of COUNTS) {
      const definition = instruments.get(metric) ?? expect.fail(metric);
      const [name = ''] = prometheusNames(definition);
      const labels: Sample['labels'] = Object.fromEntries(
        Object.entries(attributes).map(([key, one]) => [prometheusLabel(key), String(one)]),
      );
      const found = total(scraped.samples, definition.instrument === 'histogram' ? `${name}_count` : name, labels);
      if (value === undefined) expect([metric, labels, found > 0]).toEqual([metric, labels, true]);
      else expect([metric, labels, found]).toEqual([metric, labels, value]);
    }
  });

  test('is what promtool finds right', { timeout: PROMTOOL_BUILD_MS }, async ({ skip }) => {
    const why = await whyNoPromtool();
    if (why !== undefined) skip(why);
    await buildPromtool();
    expect(await promtool(['check', 'metrics'], scraped.text)).toBe('');
  });
});
