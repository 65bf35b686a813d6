import { setTimeout as delay } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import type { LedgerWindow } from '../../scraper/state/ledger.ts';
import { RedisConnection } from '../../scraper/state/redis-connection.ts';
import { RedisKeys } from '../../scraper/state/redis-keys.ts';
import { RedisLedger } from '../../scraper/state/redis-ledger.ts';
import { needsCollector } from '../support/collector/needs-collector.ts';
import { type ApiRequest, records } from '../support/json-api.ts';
import { startRedis } from '../support/redis.ts';
import type { RunningScraper } from '../support/scraper-process.ts';
import { counted, deliveries, expectAll, expectDelivery } from './kit/delivery.ts';
import { Workshop } from './kit/workshop.ts';

needsCollector();

const STEP_MS = 100;
const MOVES_WITHIN_MS = 15_000;
/** A beat of the others, and a period of the source. */
const HANDED_OVER_MS = 8000;
const QUIET_MS = 3000;
const SETTLED_WITHIN_MS = 20_000;
/** Each pod looks every 3 s which sources are its own. */
const SHARED_OUT_MS = 7000;

const podOf = ({ headers }: ApiRequest): string => String(headers['x-pod']);
const sourceOf = ({ headers }: ApiRequest): string => String(headers['x-source']);

/** Scrapers that share a Redis and the sources. */
class Team implements AsyncDisposable {
  readonly workshop: Workshop;
  readonly sources: readonly string[];
  readonly start = new Date();
  readonly #stack: AsyncDisposableStack;
  readonly #server: { readonly host: string; readonly port: number };
  readonly #file: string;

  private constructor(
    workshop: Workshop,
    sources: readonly string[],
    stack: AsyncDisposableStack,
    redis: Team['server'],
    file: string,
  ) {
    this.workshop = workshop;
    this.sources = sources;
    this.#stack = stack;
    this.#server = redis;
    this.#file = file;
  }

  static async open(size: number): Promise<Team> {
    const stack = new AsyncDisposableStack();
    const redis = stack.use(await startRedis());
    const workshop = stack.use(await Workshop.open());
    const start = new Date();
    workshop.api.records = records(180_000 / STEP_MS, start, STEP_MS);
    const sources = Array.from({ length: size }, (_, number) => `source-${number}`);
    const file = await workshop.configure(
      sources.map((name) =>
        workshop.source(name, { scrape: { rangeKeys: { firstScrapeStart: start.toISOString() } } }),
      ),
      { fingerprintStore: { backend: 'redis', redis: { host: redis.host, port: redis.port, keyPrefix: 'team:' } } },
    );
    return new Team(workshop, sources, stack, { host: redis.host, port: redis.port }, file);
  }

  get server(): { readonly host: string; readonly port: number } {
    return this.#server;
  }

  pod(name: string, env: NodeJS.ProcessEnv = {}): Promise<RunningScraper> {
    return this.workshop.start(this.#file, { POD: name, ...env });
  }

  /** Which pods have asked for each source since that request. */
  owners(from: number): Map<string, Set<string>> {
    const owners = new Map(this.sources.map((name) => [name, new Set<string>()]));
    for (const request of this.workshop.api.requests.slice(from)) owners.get(sourceOf(request))?.add(podOf(request));
    return owners;
  }

  /** Says whose each source is, once it was asked for by one pod only for a while. */
  async settled(): Promise<Map<string, string>> {
    const limit = performance.now() + SETTLED_WITHIN_MS;
    for (;;) {
      const from = this.workshop.api.requests.length;
      await delay(QUIET_MS);
      const owners = this.owners(from);
      if ([...owners.values()].every(({ size }) => size === 1)) {
        return new Map([...owners].map(([source, pods]) => [source, [...pods].join('')]));
      }
      if (performance.now() > limit)
        throw new Error(`several pods ask: ${JSON.stringify([...owners].map(([name, pods]) => [name, ...pods]))}`);
    }
  }

  /** Waits until the sources of a pod that has gone are asked for by others; those of the others stay where they are. */
  async moved(before: ReadonlyMap<string, string>, gone: string, since: number, withinMs: number) {
    const { api } = this.workshop;
    const from = api.requests.length;
    for (const [source, pod] of before) {
      if (pod !== gone) continue;
      const next = await api.waitFor((request) => sourceOf(request) === source, withinMs, from);
      expect(podOf(next)).not.toBe(gone);
      expect(next.time - since).toBeLessThan(withinMs);
    }
    const now = await this.settled();
    for (const [source, pod] of before) if (pod !== gone) expect([source, now.get(source)]).toEqual([source, pod]);
    return now;
  }

  async ledger<T>(look: (ledger: RedisLedger) => Promise<T>): Promise<T> {
    const connection = new RedisConnection({ ...this.#server, db: 0, username: null, password: null, ssl: false });
    await connection.connect();
    try {
      return await look(new RedisLedger(connection, new RedisKeys('team:')));
    } finally {
      connection.close();
    }
  }

  windows(source: string): Promise<LedgerWindow[]> {
    return this.ledger((ledger) => ledger.windows(source, { offset: 0, limit: 1000 }));
  }

  /** Everything up to now has come, and twice only what the ledger says. Returns how much came twice. */
  async expectDelivered(): Promise<number> {
    const { api, collector } = this.workshop;
    const now = Date.now();
    const past = api.records.filter(({ at }) => Date.parse(at) < now);
    await collector.waitFor((all) => {
      for (const source of this.sources) expectAll(all, source, past);
    });
    let repeated = 0;
    for (const source of this.sources) {
      const mayRepeat = (await this.windows(source)).filter((window) => window.mayRepeat);
      const all = await collector.collected();
      // Windows have gone on meanwhile.
      const last = Math.max(...deliveries(all, source).keys());
      repeated += expectDelivery(all, source, api.records.slice(0, last + 1), mayRepeat);
      expect(counted(all, source, 'events')).toBeGreaterThanOrEqual(last + 1);
    }
    return repeated;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack[Symbol.asyncDispose]();
  }
}

test.concurrent(
  'three pods: each source is on one of them, and moves when its pod dies or goes',
  { timeout: 120_000 },
  async () => {
    await using team = await Team.open(9);
    const pods = new Map<string, RunningScraper>();
    for (const name of ['a', 'b', 'c']) pods.set(name, await team.pod(name));
    await delay(SHARED_OUT_MS);
    const before = await team.settled();
    const [first = '', ...others] = new Set(before.values());
    expect(others.length).toBeGreaterThan(0);

    const killed = performance.now();
    pods.get(first)?.kill();
    await pods.get(first)?.exited;
    const between = await team.moved(before, first, killed, MOVES_WITHIN_MS);

    // An orderly end hands them over at once.
    const [second = ''] = new Set(between.values());
    const asked = performance.now();
    expect(await pods.get(second)?.stop()).toEqual({ code: 0, signal: null });
    const after = await team.moved(between, second, asked, HANDED_OVER_MS);
    expect(new Set(after.values()).size).toBe(1);
    await team.expectDelivered();
  },
);

test.concurrent(
  'two pods: one that was paused while it asked cannot send or commit when it wakes up',
  { timeout: 120_000 },
  async () => {
    await using team = await Team.open(4);
    const { api } = team.workshop;
    const pods = { a: await team.pod('a'), b: await team.pod('b') };
    await delay(SHARED_OUT_MS);
    const [victim, owner] = [...(await team.settled())][0] ?? [];
    if (victim === undefined || (owner !== 'a' && owner !== 'b')) throw new Error(`${victim} is of ${owner}`);

    // The answer waits, and its reader is paused.
    api.fault = (request) => (sourceOf(request) === victim ? 'hang' : undefined);
    const open = await api.waitFor((request) => sourceOf(request) === victim && request.fault === 'hang');
    expect(podOf(open)).toBe(owner);
    pods[owner].kill('SIGSTOP');
    const paused = performance.now();
    const other = (request: ApiRequest): boolean => sourceOf(request) === victim && podOf(request) !== owner;
    const taken = await api.waitFor(other, MOVES_WITHIN_MS, api.requests.indexOf(open));
    expect(taken.time - paused).toBeLessThan(MOVES_WITHIN_MS);
    // The same window, which both now have.
    expect(taken.parameters['from']).toBe(open.parameters['from']);
    api.fault = () => undefined;
    pods[owner].kill('SIGCONT');
    api.release();

    await delay(5000);
    await team.settled();
    await team.expectDelivered();
    const both = (await team.windows(victim)).filter(
      ({ start }) => +start === Date.parse(open.parameters['from'] ?? ''),
    );
    expect(both).toMatchObject([{ state: 'committed', mayRepeat: false }]);
    await pods.a.stop();
    await pods.b.stop();
  },
);

test.concurrent(
  'two pods: one that was paused while it sent cannot commit when it wakes up',
  { timeout: 120_000 },
  async () => {
    await using team = await Team.open(4);
    const { api, collector } = team.workshop;
    // Longer than the pause, or the end of its time limit would be the first thing that it sees.
    const patient = { OTEL_EXPORTER_OTLP_TIMEOUT: '60000' };
    const pods = { a: await team.pod('a', patient), b: await team.pod('b', patient) };
    await delay(SHARED_OUT_MS);
    const [victim, owner] = [...(await team.settled())][0] ?? [];
    if (victim === undefined || (owner !== 'a' && owner !== 'b')) throw new Error(`${victim} is of ${owner}`);

    // What it sends arrives, and the answer finds nobody.
    collector.freeze();
    const from = api.requests.length;
    const exporting = async (): Promise<LedgerWindow | undefined> =>
      (await team.windows(victim)).find(({ state }) => state === 'exporting');
    const sent = await vi.waitFor(async () => {
      const window = await exporting();
      // The answer to one that was sent before may still be on its way.
      await delay(500);
      if (window === undefined || (await exporting())?.id !== window.id) throw new Error('nothing is being sent');
      return window;
    }, 20_000);
    pods[owner].kill('SIGSTOP');
    // The other pod has the window next, but gets no answer.
    const other = (request: ApiRequest): boolean => sourceOf(request) === victim && podOf(request) !== owner;
    api.fault = (request) => (other(request) ? 'hang' : undefined);
    collector.thaw();
    await api.waitFor(other, MOVES_WITHIN_MS, from);
    pods[owner].kill('SIGCONT');
    await delay(1000);
    const states = (await team.windows(victim)).filter(({ id }) => id === sent.id).map(({ state }) => state);
    expect(states).not.toContain('committed');
    api.fault = () => undefined;
    api.release();

    await delay(5000);
    await team.settled();
    await team.expectDelivered();
    await pods.a.stop();
    await pods.b.stop();
  },
);
