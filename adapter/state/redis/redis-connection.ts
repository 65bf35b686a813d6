import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { redisOptions, type RedisServer } from '../../../lib/redis/redis-options.ts';
import { evaluate, type RedisReply, replyCode } from '../../../lib/redis/redis-script.ts';
import type { StoreScript } from './lua-scripts.ts';
import { StoreUnavailable } from '../state-store.ts';
import { WaitingRoom } from '../waiting-room.ts';

const TIMES = {
  // Short, since an attempt at an address where Redis is no more holds up the next one.
  connect: 2_000,
  command: 2_000,
  silence: 5_000,
};
/** Between two attempts to connect, but for the first one, which comes at once. */
const RETRY_MS = 100;
/** The same once Redis has been away for long. */
const LATE_RETRY_MS = 500;
const LATE_ATTEMPT = 100;

/** Replies by which the server says that it cannot serve now, whatever the command. */
const UNAVAILABLE_REPLIES = new Set([
  'LOADING',
  'READONLY',
  'OOM',
  'CLUSTERDOWN',
  'MASTERDOWN',
  'MISCONF',
  'NOREPLICAS',
  'BUSY',
  'TRYAGAIN',
  'UNKILLABLE',
  'NOAUTH',
  'WRONGPASS',
  'NOPERM',
  // Somebody else has written there.
  'WRONGTYPE',
]);

/**
 * What becomes of a command when there is no connection, or when it breaks before the answer: `again` waits for the next
 * one, and is sent anew, so doing it twice must be doing it once; `once` waits, but what was sent may have been carried
 * out and fails; `now` fails at once, for health checks.
 */
export type Attempts = 'again' | 'once' | 'now';

/**
 * One connection that reconnects by itself for ever. Commands wait for it up to `waitMs`; then, or at once without such
 * a time, they fail. One that was under way when the connection broke may or may not have been carried out.
 */
export class RedisConnection {
  readonly redis: Redis;
  readonly #waitMs: number;
  readonly #mayWait: () => boolean;
  readonly #room = new WaitingRoom();
  /** Told when the server can be used, at first and again. */
  readonly #onUsable: (() => void)[] = [];
  /** Whether commands may be sent: there is a connection, and its server has loaded its data. */
  #isUsable = false;
  /** Why the last connection attempt failed; ioredis tells it apart from the commands that fail for it. */
  #lastError: Error | undefined;
  #corked = false;

  constructor(
    server: RedisServer,
    { waitMs = 0, mayWait = () => true }: { waitMs?: number; mayWait?: () => boolean } = {},
  ) {
    this.#waitMs = waitMs;
    this.#mayWait = mayWait;
    // At once, unless the connection ends before it is of use, again and again.
    const retry = (attempt: number): number => (this.#isUsable ? 0 : retryMs(attempt));
    this.redis = new Redis(redisOptions(server, { ...TIMES, retry }));
    this.redis.on('error', (error: Error) => {
      this.#lastError = error;
    });
    this.redis.on('ready', () => {
      this.#lastError = undefined;
      void this.#admit();
    });
    this.redis.on('close', () => {
      this.#isUsable = false;
    });
  }

  onUsable(listener: () => void): void {
    this.#onUsable.push(listener);
  }

  /** Resolves when commands can be sent. When it fails, further attempts go on in the background. */
  async connect(): Promise<void> {
    if (this.redis.status === 'ready') return;
    await this.run((redis) => redis.connect(), 'now');
  }

  /** Runs a command; raises StoreUnavailable when the server cannot be reached or cannot serve. */
  async run<T>(command: (redis: Redis) => Promise<T>, attempts: Attempts = 'again'): Promise<T> {
    if (this.#mustWait(attempts)) return this.#later(command, attempts);
    this.#cork();
    try {
      return await command(this.redis);
    } catch (error) {
      if (this.#mayRepeat(error, attempts)) return this.#later(command, attempts);
      throw this.#asStoreError(error);
    }
  }

  /** Runs a script, as often as it may be. */
  script(
    script: StoreScript,
    keys: readonly string[],
    values: readonly (string | number)[],
    attempts: Attempts = script.isRepeatable === true ? 'again' : 'once',
  ): Promise<RedisReply> {
    return this.run((redis) => evaluate(redis, script, keys, values), attempts);
  }

  /** What waits for the connection fails now; what comes later may wait again. */
  sendAway(): void {
    this.#room.sendAway();
  }

  /** From now on nothing waits for the connection. */
  endWaits(): void {
    this.#room.close();
  }

  close(): void {
    this.#room.close();
    this.redis.disconnect();
  }

  #mustWait(attempts: Attempts): boolean {
    return !this.#isUsable && this.#waitMs > 0 && attempts !== 'now' && this.#mayWait();
  }

  #mayRepeat(error: unknown, attempts: Attempts): boolean {
    if (this.#waitMs === 0 || attempts === 'now') return false;
    if (!(attempts === 'again' ? isBroken(error) : wasNotSent(error))) return false;
    this.#isUsable = false;
    return true;
  }

  /** Waits for the connection and sends a command then, again and again within the time. */
  async #later<T>(command: (redis: Redis) => Promise<T>, attempts: Attempts): Promise<T> {
    const end = performance.now() + this.#waitMs;
    for (;;) {
      if (!this.#isUsable && !(await this.#room.wait(end - performance.now()))) {
        throw this.#asStoreError(new Error('there is no connection'));
      }
      this.#cork();
      try {
        return await command(this.redis);
      } catch (error) {
        if (!this.#mayRepeat(error, attempts)) throw this.#asStoreError(error);
      }
    }
  }

  /** Lets commands in once the server has loaded its data; what it says before is no answer. */
  async #admit(): Promise<void> {
    const { stream } = this.redis;
    while (this.redis.status === 'ready' && this.redis.stream === stream) {
      try {
        await this.redis.ping();
        return this.#use();
      } catch (error) {
        const code = replyCode(error);
        if (code !== undefined && code !== 'LOADING') return this.#use();
      }
      await delay(RETRY_MS, undefined, { ref: false });
    }
  }

  #use(): void {
    if (this.redis.status !== 'ready' || this.#isUsable) return;
    this.#isUsable = true;
    this.#room.letIn();
    for (const listener of this.#onUsable) listener();
  }

  /**
   * Holds the socket back until the end of this turn of the event loop, so that all its commands leave in one write.
   * ioredis' own auto-pipelining does the same but costs more than it saves.
   */
  #cork(): void {
    const { stream } = this.redis;
    if (this.#corked || this.redis.status !== 'ready') return;
    this.#corked = true;
    stream.cork();
    setImmediate(() => {
      this.#corked = false;
      stream.uncork();
    });
  }

  #asStoreError(error: unknown): unknown {
    const code = replyCode(error);
    if (code !== undefined && !UNAVAILABLE_REPLIES.has(code)) return error;
    const cause = code === undefined ? (this.#lastError ?? error) : error;
    const reason = cause instanceof Error ? cause.message : String(cause);
    return new StoreUnavailable(`Redis is unavailable: ${reason}`, { cause });
  }
}

/** ioredis found no connection to send it over. */
const wasNotSent = (error: unknown): boolean =>
  error instanceof Error && error.message.startsWith("Stream isn't writeable");

/** The connection broke before the answer came. A server that hangs, where time ran out, is none to wait for. */
const isBroken = (error: unknown): boolean =>
  wasNotSent(error) ||
  (error instanceof Error &&
    (['MaxRetriesPerRequestError', 'AbortError'].includes(error.name) || error.message === 'Connection is closed.'));

/** Before the next attempt to connect. Spread, so that not all replicas come back in the same moment. */
const retryMs = (attempt: number): number =>
  (attempt < LATE_ATTEMPT ? RETRY_MS : LATE_RETRY_MS) * (0.75 + Math.random() / 4);
