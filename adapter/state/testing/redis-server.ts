import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { RedisOptions } from 'ioredis';
import type { RedisServer } from '../../../lib/redis/redis-options.ts';

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
    const child = spawn('redis-server', ['--bind', this.server.host, '--save', '', ...this.#args], { stdio: 'ignore' });
    this.#process = child;
    const failed = Promise.race([
      once(child, 'exit').then(([code]) => Promise.reject(new Error(`redis-server ended with ${String(code)}`))),
      once(child, 'error').then(([error]) => Promise.reject(error)),
      delay(START_TIMEOUT_MS, undefined, { ref: false }).then(() => Promise.reject(new Error('redis-server is late'))),
    ]);
    const redis = this.#client({ retryStrategy: () => 20, maxRetriesPerRequest: null });
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
  async use<T>(work: (redis: Redis) => Promise<T>): Promise<T> {
    const redis = this.#client({});
    try {
      return await work(redis);
    } finally {
      redis.disconnect();
    }
  }

  #client(options: RedisOptions): Redis {
    const { host, port, username, password, tls } = this.server;
    return new Redis({
      host,
      port,
      username: username ?? undefined,
      password: password ?? undefined,
      tls: tls === 'off' ? undefined : { rejectUnauthorized: false },
      ...options,
    });
  }
}

export interface TestRedisOptions {
  /** For the user `default`. */
  readonly password?: string;
  /** Paths of PEM files; the server then speaks TLS only. */
  readonly tls?: { readonly key: string; readonly certificate: string };
}

/** Starts a redis-server on a free port. */
export async function startRedis({ password, tls }: TestRedisOptions = {}): Promise<TestRedis> {
  const port = await freePort();
  const server: RedisServer = {
    host: '127.0.0.1',
    port,
    db: 0,
    username: null,
    password: password ?? null,
    tls: tls === undefined ? 'off' : 'insecure',
  };
  const args = tls === undefined ? ['--port', `${port}`] : ['--port', '0', '--tls-port', `${port}`];
  if (tls !== undefined) args.push('--tls-key-file', tls.key, '--tls-cert-file', tls.certificate);
  if (tls !== undefined) args.push('--tls-ca-cert-file', tls.certificate, '--tls-auth-clients', 'no');
  if (password !== undefined) args.push('--requirepass', password);
  const redis = new TestRedis(server, args);
  await redis.start();
  return redis;
}

/** A server with passwords, and the login of a user that may touch the keys and channels of one key base only. */
export async function startRestrictedRedis(keyBase: string): Promise<{ server: TestRedis; client: RedisServer }> {
  const server = await startRedis({ password: 'admin-secret' });
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
