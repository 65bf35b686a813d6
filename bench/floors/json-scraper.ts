/**
 * The least that a scraper on Node can do for a page of records: fetch and parse it, pick the values, add them up, leave
 * out what was there before, and export. Nothing is configured, retried or recovered. The environment variable JOB says
 * what to do (ScrapeJob, as JSON).
 */
import { createHash } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { Pool } from 'undici';
import { BUCKETS, type ScrapeJob } from '../harness/scrape-job.ts';

interface Item {
  readonly id: number;
  readonly kind: string;
  readonly site: string;
  readonly outcome: string;
  readonly account: { readonly plan: string };
  readonly timing: { readonly totalMs: number };
  readonly usage: { readonly percent: number };
}

interface Series {
  readonly attributes: readonly object[];
  gauge: number;
  events: number;
  sum: number;
  readonly buckets: number[];
}

const job = JSON.parse(process.env['JOB'] ?? '{}') as ScrapeJob;
const pool = new Pool(job.sink, { connections: 8 });
const series = new Map<string, Series>();
const startNano = `${Date.now()}000000`;
const fingerprints = job.fingerprints ? openFingerprints(`${job.folder}/floor.db`) : undefined;

const attribute = (key: string, value: string): object => ({ key, value: { stringValue: value } });
const resource = { attributes: [attribute('service.name', 'bench')] };

function openFingerprints(file: string) {
  const db = new DatabaseSync(file);
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL');
  db.exec('CREATE TABLE fingerprints (hash TEXT PRIMARY KEY, until INTEGER) WITHOUT ROWID');
  const find = db.prepare('SELECT until FROM fingerprints WHERE hash = ?');
  const add = db.prepare('INSERT OR REPLACE INTO fingerprints VALUES (?, ?)');
  return {
    /** The items that are new, remembered in one transaction. */
    unseen(items: readonly Item[]): Item[] {
      const time = Date.now();
      db.exec('BEGIN');
      const left = items.filter(({ id, kind }) => {
        const hash = createHash('sha256').update(`page:${id}:${kind}`).digest('hex');
        if (Number(find.get(hash)?.['until'] ?? 0) > time) return false;
        add.run(hash, time + 3_600_000);
        return true;
      });
      db.exec('COMMIT');
      return left;
    },
  };
}

function addUp(item: Item): Series {
  const { kind, site, outcome, account, timing, usage } = item;
  const key = `${kind}\n${site}\n${outcome}\n${account.plan}`;
  let one = series.get(key);
  if (one === undefined) {
    const values = { source: 'page', kind, site, outcome, plan: account.plan };
    const attributes = Object.entries(values).map(([name, value]) => attribute(name, value));
    one = { attributes, gauge: 0, events: 0, sum: 0, buckets: Array.from({ length: BUCKETS.length + 1 }, () => 0) };
    series.set(key, one);
  }
  one.gauge = usage.percent;
  one.events++;
  one.sum += timing.totalMs;
  let bucket = 0;
  while (bucket < BUCKETS.length && timing.totalMs > (BUCKETS[bucket] ?? 0)) bucket++;
  one.buckets[bucket] = (one.buckets[bucket] ?? 0) + 1;
  return one;
}

async function get(path: string): Promise<readonly Item[]> {
  const { body } = await pool.request({ path, method: 'GET' });
  return ((await body.json()) as { items: Item[] }).items;
}

async function send(path: string, content: object): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const { body } = await pool.request({ path, method: 'POST', headers, body: JSON.stringify(content) });
  await body.dump();
}

async function sendLogs(logRecords: readonly object[]): Promise<void> {
  await send('/v1/logs', { resourceLogs: [{ resource, scopeLogs: [{ scope: { name: 'page' }, logRecords }] }] });
}

async function sendMetrics(): Promise<void> {
  const timeUnixNano = `${Date.now()}000000`;
  const points = (value: (one: Series) => object): object[] =>
    [...series.values()].map((one) => ({
      startTimeUnixNano: startNano,
      timeUnixNano,
      attributes: one.attributes,
      ...value(one),
    }));
  const metrics = [
    { name: 'bench.usage', unit: '%', gauge: { dataPoints: points(({ gauge }) => ({ asDouble: gauge })) } },
    {
      name: 'bench.events',
      unit: '1',
      sum: { aggregationTemporality: 2, isMonotonic: true, dataPoints: points((one) => ({ asDouble: one.events })) },
    },
    {
      name: 'bench.duration',
      unit: 'ms',
      histogram: {
        aggregationTemporality: 2,
        dataPoints: points(({ events, sum, buckets }) => ({
          count: String(events),
          sum,
          bucketCounts: buckets.map(String),
          explicitBounds: BUCKETS,
        })),
      },
    },
  ];
  await send('/v1/metrics', { resourceMetrics: [{ resource, scopeMetrics: [{ scope: { name: 'bench' }, metrics }] }] });
}

async function scrape(path: string): Promise<void> {
  const all = await get(path);
  const items = fingerprints?.unseen(all) ?? all;
  let batch: object[] = [];
  for (const item of items) {
    const { attributes } = addUp(item);
    if (!job.logs) continue;
    const time = `${Date.now()}000000`;
    batch.push({
      timeUnixNano: time,
      observedTimeUnixNano: time,
      severityNumber: 9,
      severityText: 'INFO',
      body: { stringValue: JSON.stringify({ source: 'page', record: item }) },
      attributes,
    });
    if (batch.length < 512) continue;
    await sendLogs(batch);
    batch = [];
  }
  if (batch.length > 0) await sendLogs(batch);
}

const { windows, records, wait } = job;
if (windows === 0) {
  await scrape(`/page?n=${records}`);
} else {
  const times = Array.from({ length: windows }, (_, index) => index);
  const lanes = Array.from({ length: 4 }, async () => {
    for (let index = times.shift(); index !== undefined; index = times.shift()) {
      const [start, end] = [index, index + 1].map((hour) => new Date(hour * 3_600_000).toISOString());
      await scrape(`/window?n=${records}&wait=${wait}&start=${start}&end=${end}`);
    }
  });
  await Promise.all(lanes);
}
await sendMetrics();

// A scraper stays.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(0));
setInterval(() => undefined, 2 ** 30);
