import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { RedisSettings } from '../redis-connection.ts';

const START_TIMEOUT_MS = 10_000;

/** A real redis-server of our own on 127.0.0.1, without persistence. */
export class TestRedis {
  readonly server: RedisSettings;
  #process: ChildProcess | undefined;

  constructor(port: number) {
    this.server = { host: '127.0.0.1', port, db: 0, username: null, password: null, ssl: false };
  }

  /** Starts it, again on the same port, and waits until it answers. */
  async start(): Promise<void> {
    const { host, port } = this.server;
    const child = spawn('redis-server', ['--bind', host, '--port', `${port}`, '--save', ''], { stdio: 'ignore' });
    this.#process = child;
    const failed = Promise.race([
      once(child, 'exit').then(([code]) => Promise.reject(new Error(`redis-server ended with ${String(code)}`))),
      once(child, 'error').then(([error]) => Promise.reject(error)),
      delay(START_TIMEOUT_MS, undefined, { ref: false }).then(() => Promise.reject(new Error('redis-server is late'))),
    ]);
    const redis = new Redis({ host, port, retryStrategy: () => 20, maxRetriesPerRequest: null });
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

  /** RunHistory commands with a plain client, to set up or look behind the scenes. */
  async use<T>(work: (redis: Redis) => Promise<T>): Promise<T> {
    const redis = new Redis({ host: this.server.host, port: this.server.port });
    try {
      return await work(redis);
    } finally {
      redis.disconnect();
    }
  }
}

/** Starts a redis-server on a free port. */
export async function startRedis(): Promise<TestRedis> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  const redis = new TestRedis(address.port);
  await redis.start();
  return redis;
}
