import { isIP } from 'node:net';
import { Redis } from 'ioredis';
import type { RedisOptions } from 'ioredis';
import { type RedisReply, type RedisScript, redisRetryMs, reply, replyCode } from '../../crds/runtime/redis-script.ts';
import { StoreUnavailable } from './state-store.ts';

/** Where Redis or Valkey is (specification 2.3, `redis`). */
export interface RedisServer {
  readonly host: string;
  readonly port: number;
  readonly db: number;
  readonly username: string | null;
  readonly password: string | null;
  /** `verified` checks the server's certificate against the system's authorities; `insecure` takes any. */
  readonly tls: 'off' | 'verified' | 'insecure';
}

const CONNECT_TIMEOUT_MS = 5_000;
const COMMAND_TIMEOUT_MS = 2_000;
/** A connection that answers nothing for so long while a command waits is given up for a new one. */
const SILENCE_TIMEOUT_MS = 5_000;

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
 * One connection that reconnects by itself for ever. While it is down, commands fail at once; a command that was
 * under way when it broke fails too and may or may not have been carried out.
 */
export class RedisConnection {
  readonly redis: Redis;
  /** Why the last connection attempt failed; ioredis tells it apart from the commands that fail for it. */
  #lastError: Error | undefined;
  #corked = false;

  constructor(server: RedisServer) {
    this.redis = new Redis(redisOptions(server));
    this.redis.on('error', (error: Error) => {
      this.#lastError = error;
    });
    this.redis.on('ready', () => {
      this.#lastError = undefined;
    });
  }

  /** Resolves when commands can be sent. When it fails, further attempts go on in the background. */
  async connect(): Promise<void> {
    if (this.redis.status === 'ready') return;
    await this.run((redis) => redis.connect());
  }

  /** Runs a command; raises StoreUnavailable when the server cannot be reached or cannot serve. */
  async run<T>(command: (redis: Redis) => Promise<T>): Promise<T> {
    this.#cork();
    try {
      return await command(this.redis);
    } catch (error) {
      throw this.#asStoreError(error);
    }
  }

  /** Runs a script in one round trip, or two when the server has forgotten it. */
  async script(
    script: RedisScript,
    keys: readonly string[],
    values: readonly (string | number)[],
  ): Promise<RedisReply> {
    this.#cork();
    try {
      return reply(await this.redis.evalsha(script.sha1, keys.length, ...keys, ...values));
    } catch (error) {
      if (replyCode(error) !== 'NOSCRIPT') throw this.#asStoreError(error);
    }
    return reply(await this.run((redis) => redis.eval(script.source, keys.length, ...keys, ...values)));
  }

  close(): void {
    this.redis.disconnect();
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

function redisOptions(server: RedisServer): RedisOptions {
  const { host, port, db } = server;
  // RFC 6066, section 3: an address is no server name; the certificate is checked against it all the same.
  const servername = isIP(host) === 0 ? host : undefined;
  return {
    host,
    port,
    db,
    username: server.username ?? undefined,
    password: server.password ?? undefined,
    tls: server.tls === 'off' ? undefined : { rejectUnauthorized: server.tls === 'verified', servername },
    lazyConnect: true,
    connectTimeout: CONNECT_TIMEOUT_MS,
    commandTimeout: COMMAND_TIMEOUT_MS,
    socketTimeout: SILENCE_TIMEOUT_MS,
    retryStrategy: redisRetryMs,
    // A server that still loads says so to the first command; asking with INFO takes a right that nothing else needs.
    enableReadyCheck: false,
    // Requests wait for nobody: an outage must show at once.
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    // RedisBus subscribes again by itself, because it must also fetch what it missed.
    autoResubscribe: false,
  };
}
