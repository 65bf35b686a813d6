import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { answer, OtlpReceiver } from '../../../lib/otlp/testing/otlp-receiver.ts';
import { type RunningAdapter, startAdapter } from '../../support/adapter-process.ts';
import { type Collector, startCollector } from '../../support/collector/collector.ts';
import { needsCollector } from '../../support/collector/needs-collector.ts';
import { freePort } from '../../support/ports.ts';
import type { JsonObject } from '../../support/scripted-upstream/json-rpc.ts';
import { startScriptedUpstream } from '../../support/scripted-upstream/scripted-upstream.ts';
import { mounted } from '../kit/deployment.ts';
import { type Door, openSession, textOf } from '../kit/session.ts';
import { type Sample, scrape, total } from './kit/prometheus.ts';
import { sumOf } from './kit/series.ts';

needsCollector();

const KINDS = ['well', 'absent', 'hanging', 'refusing', 'slow'] as const;
type Kind = (typeof KINDS)[number];
const BAD = KINDS.filter((kind) => kind !== 'well');

const CALLS = 200;
/** Of each queue. */
const QUEUE = 64;
const DRAIN_SECONDS = 1;
/** What the end of the process may take besides, on a busy machine. */
const SLACK_MS = 1_500;
const SLOW_MS = 300;
/** More than a shutdown may take, so that only the limit of that can end one. */
const EXPORT_SECONDS = 5;
/** Part of the calls, and what their time may differ by on a busy machine. Who waits for a collector waits for seconds. */
const NOISE_MS = [
  [0.5, 15],
  [0.99, 200],
] as const;

interface Run {
  readonly adapter: RunningAdapter;
  readonly metricsUrl: string;
  readonly door: Door;
  readonly latencies: number[];
  samples: readonly Sample[];
  stopMs: number;
}

const started = new AsyncDisposableStack();
const runs = new Map<Kind, Run>();
let collector: Collector;
let well: OtlpReceiver;
let slow: OtlpReceiver;

beforeAll(async () => {
  const upstream = started.use(await startScriptedUpstream());
  collector = started.use(await startCollector());
  well = started.use(new OtlpReceiver());
  const refusing = started.use(new OtlpReceiver());
  refusing.always = answer(503);
  slow = started.use(new OtlpReceiver());
  slow.always = (response) => void setTimeout(() => response.writeHead(200).end(), SLOW_MS);
  const endpoints: Record<Kind, JsonObject> = {
    well: over(await well.listen()),
    absent: over(`http://127.0.0.1:${await freePort()}`),
    hanging: { transport: 'grpc', endpoint: collector.grpc, traces: { enabled: true } },
    refusing: over(await refusing.listen()),
    slow: over(await slow.listen()),
  };
  await Promise.all(
    KINDS.map(async (kind) => {
      runs.set(kind, await start(upstream.url, endpoints[kind]));
    }),
  );
  // It must have had something to say first: a connection that stands is what hangs worst.
  await collector.waitFor(({ points }) => expect(points.length).toBeGreaterThan(0));
  collector.freeze();

  for (let i = 0; i < CALLS; i += 1) {
    for (const { door, latencies } of runs.values()) {
      const before = performance.now();
      expect(textOf(await door.tool('echo', { i }))).toBe(JSON.stringify({ i }));
      latencies.push(performance.now() - before);
    }
  }
  await Promise.all(
    [...runs.values()].map(async (run) => {
      ({ samples: run.samples } = await scrape(run.metricsUrl));
    }),
  );
});
afterAll(async () => {
  collector?.thaw();
  await started.disposeAsync();
});

const over = (url: string): JsonObject => ({
  transport: 'http',
  endpoint: `${url}/v1/metrics`,
  logs_endpoint: `${url}/v1/logs`,
  traces: { enabled: true, endpoint: `${url}/v1/traces` },
});

async function start(upstreamUrl: string, telemetry: JsonObject): Promise<Run> {
  const port = await freePort();
  const config = {
    core: {
      log_level: 'info',
      max_start_wait_seconds: 0,
      shutdown_grace_seconds: 0,
      upstream_ping: { enabled: false },
    },
    state_persistence: { type: 'memory' },
    servers: [mounted('up', upstreamUrl)],
    telemetry: {
      enabled: true,
      export_interval_seconds: 0.5,
      export_timeout_seconds: EXPORT_SECONDS,
      periodic_flush_seconds: 0.2,
      max_queue_size: QUEUE,
      shutdown_drain_timeout_seconds: DRAIN_SECONDS,
      emit_logs: true,
      log_batch_max_queue_size: QUEUE,
      log_batch_max_export_batch_size: QUEUE,
      log_batch_schedule_delay_millis: 100,
      prometheus: { enabled: true, host: '127.0.0.1', port },
      ...telemetry,
    },
  };
  const adapter = started.use(await startAdapter({ config }));
  const door = (await openSession(adapter)).at(adapter);
  return { adapter, metricsUrl: `http://127.0.0.1:${port}/metrics`, door, latencies: [], samples: [], stopMs: NaN };
}

const of = (kind: Kind): Run => runs.get(kind) ?? expect.fail('it did not start');
const percentile = (values: readonly number[], part: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * part)] ?? NaN;
const dropped = (kind: Kind, labels: Sample['labels']): number =>
  total(of(kind).samples, 'adapter_telemetry_dropped_total', labels);

describe.each(BAD)('a collector that is %s', (kind) => {
  test('makes no call slower', () => {
    for (const [part, noise] of NOISE_MS) {
      const usual = percentile(of('well').latencies, part);
      expect(percentile(of(kind).latencies, part)).toBeLessThan(1.5 * usual + noise);
    }
  });

  test('costs no number', () => {
    const calls = { server_id: 'up', tool_name: 'echo', result: 'success' };
    expect(total(of(kind).samples, 'adapter_upstream_tool_calls_total', calls)).toBe(CALLS);
    expect(dropped(kind, { signal: 'events' })).toBe(0);
  });

  test('is waited for with no more in memory than the queues hold, and what is dropped is counted', async () => {
    const { adapter, samples } = of(kind);
    const lines = adapter.logs().filter(({ msg }) => msg === 'request').length;
    const lost = dropped(kind, { signal: 'logs' });
    const came = await arrived(kind);
    // What has neither come nor been dropped is in the queue, or in a batch that is on its way.
    expect(lines - lost - came).toBeLessThanOrEqual(2 * QUEUE);
    expect(lost).toBeLessThanOrEqual(lines);
    expect(lost > 0 || kind === 'slow').toBe(true);
    expect(total(samples, 'adapter_telemetry_queue_depth')).toBeLessThanOrEqual(QUEUE);
  });
});

/** Log records. What hangs had some before. */
async function arrived(kind: Kind): Promise<number> {
  if (kind === 'hanging') return (await collector.collected()).logs.length;
  return kind === 'slow' ? slow.requests.reduce((sum, { logs }) => sum + logs.length, 0) : 0;
}

test('a collector that is well gets everything', async () => {
  expect(dropped('well', {})).toBe(0);
  const lines = of('well')
    .adapter.logs()
    .filter(({ msg }) => msg === 'request');
  await expect
    .poll(() => new Set(well.accepted.flatMap(({ logs }) => logs.map(requestId))))
    .toEqual(new Set(lines.map(({ request_id }) => request_id)));
});
const requestId = ({ attributes }: { attributes: Record<string, unknown> }): unknown => attributes['request_id'];

test('once it works again, a collector gets all numbers', async () => {
  collector.thaw();
  const calls = { metric: 'adapter_upstream_tool_calls_total', attributes: { tool_name: 'echo', result: 'success' } };
  await collector.waitFor(({ points }) => expect(sumOf(points, calls)).toBe(CALLS));
  collector.freeze();
});

test('the end comes in time', async () => {
  await Promise.all(
    [...runs.values()].map(async (run) => {
      const before = performance.now();
      expect(await run.adapter.stop(20_000)).toEqual({ code: 0, signal: null });
      run.stopMs = performance.now() - before;
    }),
  );
  for (const kind of BAD) {
    expect(of(kind).stopMs, kind).toBeLessThan(DRAIN_SECONDS * 1000 + of('well').stopMs + SLACK_MS);
  }
});
