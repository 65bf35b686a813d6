import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { RedisAssignment } from './redis-assignment.ts';
import { RedisConnection } from './redis-connection.ts';
import { RedisKeys } from './redis-keys.ts';
import { RedisLedger } from './redis-ledger.ts';
import { startRedis } from './testing/redis-server.ts';
import type { TestRedis } from './testing/redis-server.ts';

const SOURCES = Array.from({ length: 20 }, (_, index) => `source-${index}`);
const keys = new RedisKeys('');
let redis: TestRedis;
let closings: (() => Promise<void> | void)[];

beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());
beforeEach(async () => {
  closings = [];
  await redis.use((client) => client.flushall());
});
afterEach(async () => {
  for (const close of closings.toReversed()) await close();
});

async function connect(): Promise<RedisConnection> {
  const connection = new RedisConnection(redis.server);
  closings.push(() => connection.close());
  await connection.connect();
  return connection;
}

describe('sources are shared out', () => {
  interface Pod {
    readonly assignment: RedisAssignment;
    readonly ledger: RedisLedger;
    readonly held: Set<string>;
    readonly connection: RedisConnection;
    sources: readonly string[];
    /** What losing a source waits for. */
    drained: Promise<void>;
    now: number;
  }

  /** A pod in this process, whose clock stands still. */
  async function newPod(name: string, sources: readonly string[] = SOURCES): Promise<Pod> {
    const connection = await connect();
    const held = new Set<string>();
    const pod: Pod = {
      held,
      connection,
      ledger: new RedisLedger(connection, keys),
      sources,
      drained: Promise.resolve(),
      now: 0,
      assignment: new RedisAssignment(connection, keys, {
        pod: name,
        clock: () => pod.now,
        sources: () => pod.sources,
        gained: (source) => void held.add(source),
        lost: async (source) => {
          held.delete(source);
          await pod.drained;
        },
        onError: () => undefined,
      }),
    };
    closings.push(() => pod.assignment.stop());
    await pod.assignment.start();
    return pod;
  }

  test('the only pod has all of them', async () => {
    const a = await newPod('a');
    expect(a.held.size).toBe(SOURCES.length);
    expect(a.assignment.pods()).toEqual(['a']);
    expect(SOURCES.every((source) => a.assignment.fence(source) !== undefined)).toBe(true);
    expect(a.assignment.fence('unknown')).toBeUndefined();
  });

  test('a new pod gets its share when the old one has finished with it, and never before', async () => {
    const a = await newPod('a');
    const b = await newPod('b');
    expect(b.held.size).toBe(0);

    const drained = Promise.withResolvers<void>();
    a.drained = drained.promise;
    await a.assignment.refresh();
    const moving = SOURCES.filter((source) => !a.held.has(source));
    expect(moving.length).toBeGreaterThan(3);
    const [moved = ''] = moving;
    const old = a.assignment.fence(moved);
    expect(old).toBeDefined();
    await b.assignment.refresh();
    expect(b.held.size).toBe(0);

    drained.resolve();
    await expect.poll(async () => (await b.assignment.refresh(), b.held.size)).toBe(moving.length);
    expect([...b.held].sort()).toEqual([...moving].sort());
    expect(a.assignment.fence(moved)).toBeUndefined();
    const now = b.assignment.fence(moved);
    expect(now?.token).toBeGreaterThan(old?.token ?? 0n);
    expect(await a.ledger.plan(moved, undefined, [], new Date(0), old ?? { token: 0n })).toBe(false);
    expect(await b.ledger.plan(moved, undefined, [], new Date(0), now ?? { token: 0n })).toBe(true);
  });

  test('a pod that leaves gives its sources back at once', async () => {
    const a = await newPod('a');
    const b = await newPod('b');
    await a.assignment.refresh();
    await expect.poll(async () => (await b.assignment.refresh(), b.held.size)).toBeGreaterThan(3);
    await a.assignment.stop();
    expect(SOURCES.some((source) => a.assignment.fence(source) !== undefined)).toBe(false);
    await b.assignment.refresh();
    expect(b.held.size).toBe(SOURCES.length);
  });

  test('a source moves also when giving it back did not work at first', async () => {
    const a = await newPod('a');
    const b = await newPod('b');
    const drained = Promise.withResolvers<void>();
    a.drained = drained.promise;
    await a.assignment.refresh();
    const moving = SOURCES.length - a.held.size;
    await redis.use((client) => client.config('SET', 'min-replicas-to-write', 1));
    drained.reject(new Error('the scrape ended badly'));
    await delay(100);
    await redis.use((client) => client.config('SET', 'min-replicas-to-write', 0));
    await b.assignment.refresh();
    expect(b.held.size).toBe(0);
    await a.assignment.refresh();
    await b.assignment.refresh();
    expect(b.held.size).toBe(moving);
  });

  test('sources that come and go with the configuration do so here', async () => {
    const a = await newPod('a');
    a.sources = ['source-0', 'new'];
    await a.assignment.refresh();
    expect([...a.held].sort()).toEqual(['new', 'source-0']);
    await expect.poll(() => a.assignment.fence('source-1')).toBeUndefined();
    expect(a.assignment.fence('new')).toBeDefined();
  });

  test('pods of two shards run what their own files say, each source on one of them also while it moves', async () => {
    const [left, right] = [SOURCES.slice(0, 10), SOURCES.slice(10)];
    const [a, b, c] = [await newPod('one/a', left), await newPod('one/b', left), await newPod('two/c', right)];
    const turn = async (): Promise<void> => {
      for (const { assignment } of [a, b, c]) await assignment.refresh();
    };
    await expect.poll(async () => (await turn(), [...a.held, ...b.held].length)).toBe(left.length);
    expect([...c.held].sort()).toEqual([...right].sort());
    expect([a.assignment.pods().toSorted(), c.assignment.pods()]).toEqual([['one/a', 'one/b'], ['two/c']]);

    const [moving = ''] = a.held;
    const drained = Promise.withResolvers<void>();
    a.drained = drained.promise;
    c.sources = [...right, moving];
    [a.sources, b.sources] = [0, 1].map(() => left.filter((source) => source !== moving)) as [string[], string[]];
    await turn();
    await turn();
    expect([a.assignment.fence(moving) !== undefined, c.assignment.fence(moving)]).toEqual([true, undefined]);
    drained.resolve();
    await expect.poll(async () => (await turn(), c.assignment.fence(moving))).toBeDefined();
    expect(a.assignment.fence(moving)).toBeUndefined();
  });

  test('a pod that cannot renew its lease trusts its proof no longer than the lease', async () => {
    const a = await newPod('a');
    a.now = 9_999;
    expect(a.assignment.fence('source-0')).toBeDefined();
    a.now = 10_000;
    expect(a.assignment.fence('source-0')).toBeUndefined();
    await a.assignment.refresh();
    expect(a.assignment.fence('source-0')).toBeDefined();
  });

  test('when Redis has lost its data, proof from before counts for nothing', async () => {
    const a = await newPod('a');
    const before = a.assignment.fence('source-0') ?? { token: 0n };
    await redis.use((client) => client.flushall());
    expect(await a.ledger.plan('source-0', undefined, [], new Date(0), before)).toBe(false);
    await expect
      .poll(async () => (await a.assignment.refresh(), a.assignment.fence('source-0')?.token ?? 0n))
      .toBeGreaterThan(before.token);
  });
});

describe('pods are processes', () => {
  class PodProcess {
    readonly name: string;
    readonly lines: string[] = [];
    readonly held = new Map<string, bigint>();
    readonly child: ChildProcess;

    constructor(name: string) {
      this.name = name;
      const program = join(import.meta.dirname, 'testing', 'assigned-pod.ts');
      const args = [program, String(redis.server.port), name, String(SOURCES.length)];
      const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
      this.child = child;
      createInterface(child.stdout).on('line', (line) => {
        this.lines.push(line);
        const [what, source = '', token] = line.split(' ');
        if (what === 'gained') this.held.set(source, BigInt(token ?? 0));
        if (what === 'lost') this.held.delete(source);
      });
      closings.push(async () => {
        if (child.exitCode !== null || child.signalCode !== null) return;
        const exited = once(child, 'exit');
        child.kill('SIGKILL');
        await exited;
      });
    }

    /** Tries to commit with the proof that it has. */
    async commit(source: string): Promise<boolean> {
      this.child.stdin?.write(`commit ${source}\n`);
      const answer = (): string | undefined => this.lines.find((line) => line.startsWith(`committed ${source} `));
      await expect.poll(answer, { timeout: 10_000 }).toBeDefined();
      return answer()?.endsWith('true') === true;
    }
  }

  const sharedBy = (pods: readonly PodProcess[]): boolean =>
    pods.reduce((total, { held }) => total + held.size, 0) === SOURCES.length &&
    pods.every(({ held }) => held.size > 0);

  test('sources of a dead and of a frozen pod move within 15 s, and the frozen one cannot commit when it wakes up', async () => {
    const [a, b, c] = [new PodProcess('a'), new PodProcess('b'), new PodProcess('c')];
    await expect.poll(() => sharedBy([a, b, c]), { timeout: 30_000 }).toBe(true);

    const [ofDead, ofFrozen] = [[...b.held.keys()], [...c.held.keys()]];
    const before = new Map([...a.held, ...b.held, ...c.held]);
    b.child.kill('SIGKILL');
    c.child.kill('SIGSTOP');
    const since = performance.now();
    await expect.poll(() => a.held.size, { timeout: 20_000, interval: 50 }).toBe(SOURCES.length);
    expect(performance.now() - since).toBeLessThan(15_000);
    for (const source of [...ofDead, ...ofFrozen]) expect(a.held.get(source)).toBeGreaterThan(before.get(source) ?? 0n);

    const [source = ''] = ofFrozen;
    // The window is the new owner's; the old one asks as soon as it is awake.
    expect(await a.commit(source)).toBe(true);
    const asleep = c.commit(source);
    await delay(200);
    c.child.kill('SIGCONT');
    expect(await asleep).toBe(false);
    await expect.poll(() => c.lines, { timeout: 10_000 }).toContain(`lost ${source}`);
    await expect.poll(() => sharedBy([a, c]), { timeout: 30_000 }).toBe(true);
  }, 120_000);
});
