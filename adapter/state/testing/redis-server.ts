import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { RedisServer } from '../redis-connection.ts';

const START_TIMEOUT_MS = 10_000;

/** A real redis-server of our own on 127.0.0.1, without persistence. */
export class TestRedis {
  readonly server: RedisServer;
  readonly #args: readonly string[];
  #process: ChildProcess | undefined;

  constructor(server: RedisServer, args: readonly string[]) {
    this.server = server;
    this.#args = args;
  }

  /** Starts it, again on the same port, and waits until it answers. */
  async start(): Promise<void> {
    const { host, port, username, password } = this.server;
    const child = spawn('redis-server', ['--bind', host, '--port', String(port), '--save', '', ...this.#args], {
      stdio: 'ignore',
    });
    this.#process = child;
    const failed = Promise.race([
      once(child, 'exit').then(([code]) => Promise.reject(new Error(`redis-server ended with ${String(code)}`))),
      once(child, 'error').then(([error]) => Promise.reject(error)),
      delay(START_TIMEOUT_MS, undefined, { ref: false }).then(() => Promise.reject(new Error('redis-server is late'))),
    ]);
    const redis = new Redis({
      host,
      port,
      username: username ?? undefined,
      password: password ?? undefined,
      retryStrategy: () => 20,
      maxRetriesPerRequest: null,
    });
    redis.on('error', () => undefined);
    try {
      await Promise.race([redis.ping(), failed]);
    } finally {
      redis.disconnect();
      // It goes on to watch the process; nobody listens any more.
      failed.catch(() => undefined);
    }
  }

  /** Ends it at once, as a crash would; what it held is gone. */
  async stop(): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }

  /** Makes it stop answering while its connections stay open. */
  freeze(): void {
    this.#process?.kill('SIGSTOP');
  }

  thaw(): void {
    this.#process?.kill('SIGCONT');
  }

  /** Runs commands with a plain client, to set up or look behind the scenes. */
  async use<T>(work: (redis: Redis) => Promise<T>, login: { username?: string; password?: string } = {}): Promise<T> {
    const { host, port, username, password } = this.server;
    const redis = new Redis({ host, port, username: username ?? undefined, password: password ?? undefined, ...login });
    try {
      return await work(redis);
    } finally {
      redis.disconnect();
    }
  }
}

/** Starts a redis-server on a free port; `args` are further redis-server options. */
export async function startRedis(
  args: readonly string[] = [],
  login: { username: string | null; password: string | null } = { username: null, password: null },
): Promise<TestRedis> {
  const server = { host: '127.0.0.1', port: await freePort(), db: 0, tls: 'off', ...login } as const;
  const redis = new TestRedis(server, args);
  await redis.start();
  return redis;
}

/** A server with passwords, and the login of a user that may touch the keys and channels of one key base only. */
export async function startRestrictedRedis(keyBase: string): Promise<{ server: TestRedis; client: RedisServer }> {
  const admin = { username: 'default', password: 'admin-secret' };
  const server = await startRedis(['--requirepass', admin.password], admin);
  const rules = `on >secret resetkeys ~${keyBase}:* resetchannels &${keyBase}:* +@all -@dangerous -scan`.split(' ');
  await server.use((redis) => redis.call('ACL', 'SETUSER', 'adapter', ...rules));
  return { server, client: { ...server.server, username: 'adapter', password: 'secret' } };
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}
