import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect } from 'vitest';
import type { Cluster } from '../cluster/cluster.ts';
import { at, conditionOf, type Live } from '../cluster/kubectl.ts';
import { test } from '../cluster/test.ts';
import { buildCollector, whyNoCollector } from '../support/collector/collector.ts';
import { OtlpLines } from '../support/collector/otlp-lines.ts';
import { CHILD_KINDS, redis, source } from './kit/resources.ts';
import { COLLECTOR_CONFIG, TELEMETRY, collectorConfig, collectorPod, demoApi } from './kit/telemetry-pods.ts';

const READY_MS = 180_000;
/** The kubelet may take more than a minute to bring a change to the files of a pod. */
const READ_MS = 240_000;
const PORT = 8080;

describe('sources of one group', () => {
  test(
    'run in the same pods, which go on when sources come, go, or are wrong',
    { timeout: 600_000 },
    async ({ operated }) => {
      await using namespace = await operated.namespace('scrape-group');
      const { name: ns } = namespace;
      const apply = (...sources: readonly object[]): Promise<string> => operated.apply(sources, '-n', ns);
      const says = (name: string, type: string, status: 'True' | 'False', timeoutMs = READY_MS): Promise<Live> =>
        operated.waitForCondition('apiscrapesource', name, type, status, { namespace: ns, timeoutMs });

      await apply(source('first', 'one'), source('second', 'one'));
      for (const name of ['first', 'second']) await says(name, 'Ready', 'True');
      const before = await running(operated, ns, 'one');
      expect(before).toEqual([{ id: expect.anything(), sources: ['first', 'second'], status: 'ok' }]);
      expect((await operated.list('deployment', ns)).map(({ metadata }) => metadata.name)).toEqual(['scraper-one']);

      // One comes, one contradicts the group, and one is edited to what only the program can refuse.
      const began = Date.now();
      await apply(
        source('third', 'one'),
        changed(source('stranger', 'one'), { scraper: { otelCollectorEndpoint: 'http://127.0.0.1:4999' } }),
        changed(source('second', 'one'), { source: { frequency: undefined } }),
      );
      expect(conditionOf(await says('stranger', 'Accepted', 'False'), 'Accepted')).toMatchObject({
        reason: 'GroupConflict',
        message: expect.stringMatching(/^spec\.scraper\.otelCollectorEndpoint is .*:4999.* by the older source first/),
      });
      const refused = await says('second', 'Accepted', 'False');
      expect(conditionOf(refused, 'Accepted')).toMatchObject({
        reason: 'InvalidSpec',
        message: expect.stringContaining('spec.source.frequency'),
      });
      expect(conditionOf(refused, 'Ready')).toMatchObject({ status: 'True', observedGeneration: 1 });
      await says('third', 'Ready', 'True', READ_MS);
      console.log(`the pods read a new source after ${Math.round((Date.now() - began) / 1_000)} s`);
      expect(await running(operated, ns, 'one')).toEqual([{ ...before[0], sources: ['first', 'second', 'third'] }]);

      // Moved, mended, and gone: what is left goes on.
      await apply(source('third', 'two'), source('second', 'one'));
      await operated.run('delete', 'apiscrapesource', 'stranger', '-n', ns);
      await says('third', 'Ready', 'True', READ_MS);
      expect((await running(operated, ns, 'two')).map(({ sources }) => sources)).toEqual([['third']]);
      await says('second', 'Ready', 'True', READ_MS);
      await expect
        .poll(() => running(operated, ns, 'one'), { timeout: READ_MS, interval: 1_000 })
        .toEqual([{ ...before[0], sources: ['first', 'second'] }]);

      await operated.run('delete', 'apiscrapesources', '--all', '-n', ns);
      await expect.poll(() => children(operated, ns), { timeout: READY_MS, interval: 500 }).toEqual([]);
    },
  );
});

describe('sources of an API', () => {
  test(
    'are scraped by two shards of two pods each, and by the other pod when one is killed, and nothing is lost',
    { timeout: 900_000 },
    async ({ operated, skip }) => {
      await withDemo({ operated, skip }, 'scraped', async (ns, lines) => {
        await operated.apply(redis('redis'), '-n', ns);
        await operated.waitForRollout('redis', { namespace: ns, timeoutMs: READY_MS });
        const since = new Date(Math.floor(Date.now() / 60_000) * 60_000 - 2 * 3_600_000);
        await operated.apply(
          ORDERS.map((name) => changed(orders(name), sharedFrom(since, name))),
          '-n',
          ns,
        );
        const where = { namespace: ns, timeoutMs: READY_MS };
        for (const name of ORDERS) {
          await operated.waitForCondition('apiscrapesource', name, 'Ready', 'True', where);
          await operated.waitForCondition('apiscrapesource', name, 'SourcesHealthy', 'True', where);
        }
        const names = (await operated.list('deployment', ns, GROUP)).map(({ metadata }) => metadata.name);
        expect(names.sort()).toEqual(['scraper-shop', 'scraper2-shop']);
        const begun = new Date();
        await caughtUp(operated, ns, ORDERS, begun);
        expect(await missing(lines, ORDERS, since, begun)).toEqual([]);

        for (const name of ORDERS) {
          // Times move in the status about once a minute, and the first scrape has two hours to catch up.
          const isFilled = (live: Live | undefined): boolean =>
            ['watermark', 'records'].every((field) => at(live, 'status', field) !== undefined);
          const live = await operated.waitFor('apiscrapesource', name, isFilled, where);
          const { lastScrapeTime, lastSuccessTime, watermark, lastError } = at(live, 'status') as Status;
          for (const time of [lastScrapeTime, lastSuccessTime, watermark]) {
            expect(Date.parse(String(time))).toBeGreaterThanOrEqual(since.getTime());
            expect(Date.parse(String(time))).toBeLessThan(Date.now() + 1000);
          }
          expect(lastError).toBeUndefined();
          expect(at(live, 'status', 'records')).toEqual(expect.any(Number));
        }

        // The pod that has most to do, without a chance to say goodbye.
        const [crashTarget] = (await scrapers(operated, ns)).sort((a, b) => b.own.length - a.own.length);
        expect(crashTarget?.own.length).toBeGreaterThan(0);
        const killed = new Date();
        await operated.run('delete', 'pod', crashTarget?.pod ?? '', '-n', ns, '--grace-period=0', '--force');
        await caughtUp(operated, ns, ORDERS, killed);
        const until = new Date();
        console.log(
          `${crashTarget?.own.length} of ${ORDERS.length} sources had moved ${+until - +killed} ms after the kill`,
        );
        await caughtUp(operated, ns, ORDERS, until);
        expect(await missing(lines, ORDERS, since, until)).toEqual([]);
        const { points } = await lines.read();
        const instances = new Set(points.map(({ resource }) => resource['service.instance.id']));
        expect(instances.size).toBeGreaterThan(1);
      });
    },
  );

  test(
    'go on where they were when a new pod comes late, with a claim, and nothing is lost',
    { timeout: 900_000 },
    async ({ operated, skip }) => {
      await withDemo({ operated, skip }, 'scraped-alone', async (ns, lines) => {
        const where = { namespace: ns, timeoutMs: READY_MS };
        const scale = async (replicas: number): Promise<void> => {
          const storage = { claim: { size: '1Gi' } };
          await operated.apply([changed(orders('orders'), { storage, replicas })], '-n', ns);
        };
        await scale(1);
        await operated.waitForCondition('apiscrapesource', 'orders', 'SourcesHealthy', 'True', where);
        const since = new Date();
        await caughtUp(operated, ns, ['orders'], since);

        await scale(0);
        await expect.poll(() => scrapers(operated, ns), { timeout: READY_MS, interval: 500 }).toEqual([]);
        await delay(2 * ORDER_MS);
        await scale(1);
        const until = new Date();
        await caughtUp(operated, ns, ['orders'], until);
        expect(await missing(lines, ['orders'], since, until)).toEqual([]);
        const ready = await operated.waitForCondition('apiscrapesource', 'orders', 'Ready', 'True', where);
        expect(conditionOf(ready, 'Ready')?.message).toBe('The pods scrape it');
      });
    },
  );
});

/** So many that both pods of a shard have some, nearly always. */
const ORDERS = ['orders-1', 'orders-2', 'orders-3', 'orders-4', 'orders-5', 'orders-6', 'orders-7', 'orders-8'];
/** The variables of eight such sources do not fit into one shard. */
const LARGE = 'x'.repeat(33 * 1024);
const GROUP = 'mcpadapter.io/scrape-group=shop';
/** The demo API has an order every ten seconds, whose id is its place since 1970. */
const ORDER_MS = 10_000;

/** A namespace with the demo API and a collector, and what the collector has been given. */
async function withDemo(
  { operated, skip }: { readonly operated: Cluster; readonly skip: (reason: string) => void },
  name: string,
  use: (namespace: string, lines: OtlpLines) => Promise<void>,
): Promise<void> {
  const reason = await whyNoCollector();
  if (reason !== undefined) return skip(reason);
  await buildCollector();
  const folder = await mkdtemp(join(tmpdir(), 'collector-'));
  try {
    await writeFile(join(folder, COLLECTOR_CONFIG), collectorConfig());
    await using namespace = await operated.namespace(name);
    const { name: ns } = namespace;
    await operated.apply([...demoApi('shop'), ...collectorPod('collector', folder)], '-n', ns);
    for (const pod of ['shop', 'collector']) await operated.waitForRollout(pod, { namespace: ns, timeoutMs: READY_MS });
    await use(ns, new OtlpLines(join(folder, TELEMETRY)));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface Status {
  readonly lastScrapeTime?: string;
  readonly lastSuccessTime?: string;
  readonly watermark?: string;
  readonly lastError?: string;
}

const RANGE = {
  type: 'range',
  timeFormat: '%Y-%m-%dT%H:%M:%SZ',
  rangeKeys: { startKey: 'from', endKey: 'to' },
  parallelWindow: { unit: 'minutes', value: 5 },
};

/** On two shards with several pods, and from this time on. */
const sharedFrom = (since: Date, name: string) => ({
  scraper: { fingerprintStore: { backend: 'redis', redis: { host: 'redis' } } },
  source: {
    runFirstScrape: true,
    scrape: { ...RANGE, rangeKeys: { ...RANGE.rangeKeys, firstScrapeStart: since.toISOString() } },
  },
  env: [{ name: `LARGE_${name.replace('-', '_').toUpperCase()}`, value: LARGE }],
  replicas: 4,
});

function orders(name: string): object {
  return {
    apiVersion: 'mcpadapter.io/v1alpha1',
    kind: 'ApiScrapeSource',
    metadata: { name },
    spec: {
      group: 'shop',
      scraper: {
        otelCollectorEndpoint: 'http://collector:4318',
        otelTransport: 'http',
        enforceTls: false,
        logLevel: 'info',
      },
      source: {
        name,
        frequency: '5s',
        baseUrl: 'http://shop:8941',
        endpoint: '/orders',
        scrape: RANGE,
        dataKey: 'orders',
        timestampKey: 'placed_at',
        counterReadings: [{ name: 'shop.orders' }],
        attributes: [{ name: 'country', dataKey: 'customer.country' }],
      },
    },
  };
}

/** Pods that live, with the sources that each of them runs, and how far these are. */
async function scrapers(cluster: Cluster, namespace: string) {
  const pods = await cluster.list('pods', namespace, GROUP);
  const answers = await Promise.all(
    pods.map(async (pod) => {
      const url = `http://${String(at(pod, 'status', 'podIP'))}:${PORT}/healthz`;
      const response = await fetch(url, { signal: AbortSignal.timeout(5_000) }).catch(() => undefined);
      const { sources = [] } = ((await response?.json()) ?? {}) as { sources?: HealthOfSource[] };
      return { pod: pod.metadata.name, own: sources.filter(({ owner }) => owner) };
    }),
  );
  return answers;
}

interface HealthOfSource {
  readonly name: string;
  readonly owner: boolean;
  readonly watermark: string | null;
}

/** Waits until every source is exported up to this time. */
async function caughtUp(cluster: Cluster, namespace: string, names: readonly string[], until: Date): Promise<void> {
  const behind = async (): Promise<string[]> => {
    const known = (await scrapers(cluster, namespace)).flatMap(({ own }) => own);
    return names.filter((name) => !known.some((one) => one.name === name && Date.parse(one.watermark ?? '') >= +until));
  };
  await expect.poll(behind, { timeout: READY_MS, interval: 1_000 }).toEqual([]);
}

/**
 * Orders of that time without a log record, by source. Times are sent without fractions, so that what happened in the last
 * second may be the next window's.
 */
async function missing(lines: OtlpLines, names: readonly string[], from: Date, to: Date): Promise<string[]> {
  const { logs } = await lines.read();
  const seen = new Set(
    logs.map(({ body }) => {
      const { source, record } = body as { source: string; record: { id: number } };
      return `${source} ${record.id}`;
    }),
  );
  const first = Math.ceil(+from / ORDER_MS);
  const ids = Array.from({ length: Math.ceil((+to - 1_000) / ORDER_MS) - first }, (_, index) => first + index);
  return names.flatMap((name) => ids.map((id) => `${name} ${id}`)).filter((one) => !seen.has(one));
}

/** With these fields of the spec laid over its own. */
function changed(object: object, fields: Readonly<Record<string, object | number>>): object {
  const { spec, ...rest } = object as { spec: Record<string, object> };
  const laid = Object.entries(fields).map(([key, value]) => {
    return [key, typeof value === 'object' && !Array.isArray(value) ? { ...spec[key], ...value } : value] as const;
  });
  return { ...rest, spec: { ...spec, ...Object.fromEntries(laid) } };
}

/** The pods of a group, and what they say that they scrape. */
async function running(cluster: Cluster, namespace: string, group: string) {
  const pods = await cluster.list('pods', namespace, `mcpadapter.io/scrape-group=${group}`);
  const alive = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  return await Promise.all(
    alive.map(async (pod) => {
      const url = `http://${String(at(pod, 'status', 'podIP'))}:${PORT}/healthz`;
      const response = await fetch(url, { signal: AbortSignal.timeout(10_000) });
      const { status, sources } = (await response.json()) as { status: string; sources: { name: string }[] };
      const id = `${pod.metadata.uid} ${String(at(pod, 'status', 'containerStatuses', 0, 'restartCount'))}`;
      return { id, status, sources: sources.map(({ name }) => name).sort() };
    }),
  );
}

async function children(cluster: Cluster, namespace: string): Promise<string[]> {
  const kinds = [...CHILD_KINDS, 'pods', 'replicasets'].join(',');
  const objects = await cluster.list(kinds, namespace, 'app.kubernetes.io/managed-by=mcp-operator');
  const pods = await cluster.list('pods', namespace);
  return [...objects, ...pods].map(({ kind, metadata }) => `${kind} ${metadata.name}`);
}
