import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { RedisConnection } from '../../state/redis/redis-connection.ts';
import { RedisStore } from '../../state/redis/redis-store.ts';
import { startRedis, type TestRedis } from '../../state/testing/redis-server.ts';
import { sessionRecord } from '../../sessions/testing/session-record.ts';
import { chooseLocks } from './choose-locks.ts';
import type { Locks } from './locks.ts';
import { PolledLocks } from './polled-lock.ts';
import { RedisLock } from './redis-lock.ts';
import { fileRecord, newId } from '../testing/stored-files.ts';

/** Two holders, as two replicas have them, or two parts of one process. */
interface Holders {
  readonly a: Locks;
  readonly b: Locks;
  /** What is left of locks that nobody holds. */
  leftovers(): Promise<string[]>;
  close(): Promise<void>;
}

interface Technology {
  readonly name: string;
  start?(): Promise<void>;
  stop?(): Promise<void>;
  connect(): Promise<Holders>;
  /** A script of another process; the lock class is `Held`, and `name` is held until the process ends. */
  readonly otherProcess?: () => string;
}

const LOCK_FILE = /^[0-9]{1,3}\.lock$/;

const noStore = {
  tryLock: () => Promise.reject(new Error('not asked')),
  unlock: () => Promise.reject(new Error('not asked')),
  lockHolder: () => Promise.reject(new Error('not asked')),
};

const module = (file: string): string => JSON.stringify(new URL(file, import.meta.url).href);

const inProcess: Technology = {
  name: 'process',
  connect: async () => {
    const locks = chooseLocks('process', { stateType: 'disk', root: '/nowhere', store: noStore });
    return { a: locks, b: locks, leftovers: async () => [], close: () => locks.close() };
  },
};

let fileRoot = '';
const inFiles: Technology = {
  name: 'file',
  connect: async () => {
    const root = await mkdtemp(join(tmpdir(), 'locks-'));
    fileRoot = root;
    const [a, b] = [0, 1].map(() => chooseLocks('auto', { stateType: 'disk', root, store: noStore }));
    if (a === undefined || b === undefined) throw new Error('no locks');
    return {
      a,
      b,
      // Some files that stay; none for each name.
      leftovers: async () => (await readdir(join(root, 'state', 'locks'))).filter((name) => !LOCK_FILE.test(name)),
      close: async () => {
        await Promise.all([a.close(), b.close()]);
        await rm(root, { recursive: true });
      },
    };
  },
  otherProcess: () =>
    `import { chooseLocks } from ${module('./choose-locks.ts')};
     const locks = chooseLocks('file', { stateType: 'disk', root: ${JSON.stringify(fileRoot)}, store: {} });`,
};

let redis: TestRedis;
let tests = 0;
async function connectRedis(locksOf: (store: RedisStore) => Locks): Promise<Holders> {
  tests += 1;
  const keyBase = `locks:${tests}`;
  const connections = [new RedisConnection(redis.server), new RedisConnection(redis.server)] as const;
  await Promise.all(connections.map((connection) => connection.connect()));
  const stores = connections.map((connection) => new RedisStore(connection, { keyBase }));
  const [a, b] = stores.map(locksOf);
  if (a === undefined || b === undefined) throw new Error('no locks');
  return {
    a,
    b,
    leftovers: () => redis.use((client) => client.keys(`${keyBase}:lock:*`)),
    close: async () => {
      await Promise.all([a.close(), b.close()]);
      await Promise.all(stores.map((store) => store.close()));
    },
  };
}
const inRedis: Technology = {
  name: 'redis',
  start: async () => {
    redis = await startRedis();
  },
  stop: () => redis.stop(),
  connect: () => connectRedis((store) => chooseLocks('auto', { stateType: 'redis', root: '/nowhere', store })),
  otherProcess: () =>
    `import { chooseLocks } from ${module('./choose-locks.ts')};
     import { RedisConnection } from ${module('../../state/redis/redis-connection.ts')};
     import { RedisStore } from ${module('../../state/redis/redis-store.ts')};
     const connection = new RedisConnection(${JSON.stringify(redis.server)});
     await connection.connect();
     const store = new RedisStore(connection, { keyBase: 'locks:${tests}' });
     const locks = chooseLocks('redis', { stateType: 'redis', root: '/nowhere', store });`,
};

/** Holds a lock until it is told to let go. */
async function held(locks: Locks, name: string): Promise<{ signal: AbortSignal; free: () => Promise<void> }> {
  const [taken, letGo] = [Promise.withResolvers<AbortSignal>(), Promise.withResolvers<void>()];
  const done = locks.hold(name, async ({ signal }) => {
    taken.resolve(signal);
    await letGo.promise;
  });
  done.catch(taken.reject);
  const free = async (): Promise<void> => {
    letGo.resolve();
    await done;
  };
  return { signal: await taken.promise, free };
}

for (const technology of [inProcess, inFiles, inRedis]) {
  describe(`lock mode ${technology.name}, two holders`, () => {
    let holders: Holders;
    let a: Locks;
    let b: Locks;

    beforeAll(() => technology.start?.());
    afterAll(() => technology.stop?.());
    beforeEach(async () => {
      holders = await technology.connect();
      ({ a, b } = holders);
    });
    afterEach(() => holders.close());

    test('one at a time holds a name, and everybody comes in', async () => {
      let inside = 0;
      let most = 0;
      const work = async (): Promise<number> => {
        most = Math.max(most, ++inside);
        await delay(2);
        return inside--;
      };
      const results = await Promise.all(Array.from({ length: 60 }, (_, i) => (i % 2 ? a : b).hold('upload/s/f', work)));
      expect(results).toEqual(Array.from({ length: 60 }, () => 1));
      expect(most).toBe(1);
      expect(await holders.leftovers()).toEqual([]);
    });

    // In two processes, two names may mean the same lock file by chance.
    test('different names do not wait for each other, also within each other', async () => {
      const names = Array.from({ length: 100 }, (_, i) => `upload/s/${i}`);
      const nest = async ([name, ...others]: string[]): Promise<number> =>
        name === undefined ? 0 : a.hold(name, async () => 1 + (await nest(others)));
      const other = await held(technology === inFiles ? a : b, 'session/s');
      const begin = performance.now();
      expect(await nest(names)).toBe(100);
      expect(performance.now() - begin).toBeLessThan(3_000);
      await other.free();
      expect(await holders.leftovers()).toEqual([]);
    });

    test('work that fails frees the lock and its failure is told', async () => {
      await expect(a.hold('session/s', () => Promise.reject(new Error('work failed')))).rejects.toThrow('work failed');
      expect(await b.hold('session/s', async () => 'mine')).toBe('mine');
      expect(await holders.leftovers()).toEqual([]);
    });

    test('names may be anything', async () => {
      for (const name of ['', '..', '../../x', 'a/b', 'größe 🐘', 'x'.repeat(5000), 'a\0b', 'a\nb']) {
        expect(await a.hold(name, async () => name)).toBe(name);
      }
      expect(await holders.leftovers()).toEqual([]);
    });

    test('a holder that takes it again and again does not keep others out', async () => {
      const over = new AbortController();
      const greedy = Array.from({ length: 5 }, async () => {
        while (!over.signal.aborted) await a.hold('session/s', () => delay(10));
      });
      await delay(100);
      for (let i = 0; i < 5; i++) {
        const begin = performance.now();
        await b.hold('session/s', async () => undefined);
        expect(performance.now() - begin).toBeLessThan(3_000);
      }
      over.abort();
      await Promise.all(greedy);
    });

    test('closing ends the waiting and leaves the work alone', async () => {
      const first = await held(a, 'session/s');
      const waiting = a.hold('session/s', async () => 'mine');
      const refused = expect(waiting).rejects.toMatchObject({ code: 'draining' });
      await a.close();
      await refused;
      await expect(a.hold('session/s', async () => 'mine')).rejects.toMatchObject({ code: 'draining' });
      await first.free();
      expect(await holders.leftovers()).toEqual([]);
    });

    const { otherProcess } = technology;
    if (otherProcess === undefined) return;

    test('another process keeps us out, and when it is killed the lock is free', async () => {
      const script = `${otherProcess()} void locks.hold('session/s', async () => { console.log('held'); await new Promise((r) => setTimeout(r, 60_000)); });`;
      const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      await once(child.stdout, 'data');
      let done = false;
      const waiting = a.hold('session/s', async () => {
        done = true;
      });
      await delay(300);
      expect(done).toBe(false);
      child.kill('SIGKILL');
      await waiting;
      expect(done).toBe(true);
      expect(await holders.leftovers()).toEqual([]);
    });

    test('several processes count together without losing a step', async () => {
      const file = join(await mkdtemp(join(tmpdir(), 'count-')), 'count');
      await writeFile(file, '0');
      const script = `${otherProcess()}
        import { readFileSync, writeFileSync } from 'node:fs';
        for (let i = 0; i < 25; i++) await locks.hold('session/s', async () => {
          const count = Number(readFileSync(${JSON.stringify(file)}, 'utf8'));
          await new Promise((r) => setTimeout(r, 1));
          writeFileSync(${JSON.stringify(file)}, String(count + 1));
        });
        process.exit(0);`;
      const children = Array.from({ length: 3 }, () =>
        spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'inherit' }),
      );
      const codes = await Promise.all(children.map((child) => once(child, 'exit')));
      expect(codes).toEqual(children.map(() => [0, null]));
      expect(await readFile(file, 'utf8')).toBe('75');
      await rm(join(file, '..'), { recursive: true });
      expect(await holders.leftovers()).toEqual([]);
    });
  });
}

describe('waiting', () => {
  beforeAll(() => inRedis.start?.());
  afterAll(() => inRedis.stop?.());

  const waits = async (technology: Technology): Promise<void> => {
    const holders = await technology.connect();
    const { a, b } = holders;
    const first = await held(a, 'session/s');
    const begin = performance.now();
    const results = await Promise.allSettled([a, b].map((locks) => locks.hold('session/s', async () => 'mine')));
    for (const result of results) expect(result).toMatchObject({ reason: { code: 'storage_busy', status: 503 } });
    const waited = performance.now() - begin;
    expect(waited).toBeGreaterThan(9_900);
    expect(waited).toBeLessThan(13_000);
    expect(first.signal.aborted).toBe(false);
    await first.free();
    expect(await b.hold('session/s', async () => 'mine')).toBe('mine');
    expect(await holders.leftovers()).toEqual([]);
    await holders.close();
  };

  test('who waits for 10 s is told that the file is busy, and holds up nobody, in every mode', async () => {
    await Promise.all([inProcess, inFiles, inRedis].map(waits));
  });
});

describe('lock mode none', () => {
  test('nobody waits', async () => {
    const locks = chooseLocks('none', { stateType: 'disk', root: '/nowhere', store: noStore });
    expect(await locks.hold('x', () => locks.hold('x', async () => 'both'))).toBe('both');
    await locks.close();
  });
});

describe('lock mode file, its files', () => {
  test('there is a limited number of them, and nothing is written into them', async () => {
    const holders = await inFiles.connect();
    const folder = join(fileRoot, 'state', 'locks');
    for (let i = 0; i < 1000; i++) await holders.a.hold(`upload/s/${i}`, async () => undefined);
    const files = await readdir(folder);
    expect(files).toHaveLength(128);
    for (const file of files) expect((await stat(join(folder, file))).size).toBe(0);
    await holders.close();
  });

  test('a removed folder is made again, and whoever comes later meets the others in it', async () => {
    const holders = await inFiles.connect();
    await holders.a.hold('x', async () => undefined);
    await rm(join(fileRoot, 'state'), { recursive: true });
    const first = await held(holders.a, 'x');
    let done = false;
    const waiting = holders.b.hold('x', async () => {
      done = true;
    });
    await delay(200);
    expect(done).toBe(false);
    await first.free();
    await waiting;
    await holders.close();
  });

  test('a folder that cannot be made is the disk’s fault', async () => {
    const root = await mkdtemp(join(tmpdir(), 'locks-'));
    await writeFile(join(root, 'state'), 'a file');
    const locks = chooseLocks('file', { stateType: 'disk', root, store: noStore });
    await expect(locks.hold('x', async () => undefined)).rejects.toMatchObject({ name: 'StorageFault' });
    await locks.close();
    await rm(root, { recursive: true });
  });
});

describe('lock mode redis, its lease', () => {
  beforeAll(() => inRedis.start?.());
  afterAll(() => inRedis.stop?.());

  // A quarter of the usual times.
  const connect = (): Promise<Holders> =>
    connectRedis((store) => new PolledLocks(new RedisLock(store, { ttl: 1_500, renew: 500, retry: 60 })));
  const keyOf = (name: string): string => `locks:${tests}:lock:files/${name}`;

  test('work may take longer than the lease', async () => {
    const holders = await connect();
    const first = await held(holders.a, 'x');
    let done = false;
    const waiting = holders.b.hold('x', async () => {
      done = true;
    });
    await delay(1_900);
    expect(done).toBe(false);
    expect(first.signal.aborted).toBe(false);
    await first.free();
    await waiting;
    await holders.close();
  });

  test.each([
    ['somebody else has it', (key: string) => redis.use((client) => client.set(key, 'somebody else'))],
    ['it was deleted', (key: string) => redis.use((client) => client.del(key))],
    ['Redis does not answer', async () => redis.freeze()],
  ])('a lost lock ends the signal of its holder: %s', async (_, lose) => {
    const holders = await connect();
    const first = await held(holders.a, 'x');
    await lose(keyOf('x'));
    const begin = performance.now();
    try {
      await once(first.signal, 'abort');
    } finally {
      redis.thaw();
    }
    expect(performance.now() - begin).toBeLessThan(1_500);
    expect(first.signal.reason).toMatchObject({ code: 'storage_busy' });
    await first.free();
    await holders.close();
  });

  test('the guard of a lock names what the store checks', async () => {
    const holders = await connect();
    await holders.a.hold('x', async ({ guard }) => {
      expect(await redis.use((client) => client.get(`locks:${tests}:lock:${guard?.name}`))).toBe(guard?.owner);
    });
    await holders.close();
  });

  test('who has lost the lock cannot commit a file any more', async () => {
    const holders = await connect();
    const connection = new RedisConnection(redis.server);
    await connection.connect();
    const store = new RedisStore(connection, { keyBase: `locks:${tests}` });
    const session = sessionRecord({ sessionId: newId() });
    await store.open(session);
    const { serverId, sessionId } = session;
    const [kept, lost] = [0, 1].map(() => fileRecord({ serverId, sessionId, leaseUntil: Date.now() + 60_000 }));
    const now = Date.now();
    for (const file of [kept, lost]) {
      if (file === undefined) continue;
      await store.files.begin([{ ...file, state: 'pending' }], { now, maxArtifacts: null });
      const committed = await holders.a.hold('x', async ({ guard }) => {
        if (file === lost) await redis.use((client) => client.set(keyOf('x'), 'somebody else'));
        return store.files.commit([file], { now, guard });
      });
      expect(committed).toBe(file === kept);
      await redis.use((client) => client.del(keyOf('x')));
    }
    await store.close();
    await holders.close();
  });

  test('an outage is told at once', async () => {
    const holders = await connect();
    await redis.stop();
    try {
      await expect(holders.a.hold('x', async () => undefined)).rejects.toMatchObject({ name: 'StoreUnavailable' });
    } finally {
      await redis.start();
    }
    await holders.close();
  });
});
