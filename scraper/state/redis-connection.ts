import { Redis } from 'ioredis';
import { redisOptions, type RedisServer } from '../../lib/redis/redis-options.ts';
import { evaluate, type RedisReply, type RedisScript, redisRetryMs, replyCode } from '../../lib/redis/redis-script.ts';
import { StateUnavailable } from './ledger.ts';

/** `fingerprintStore.valkey`: Redis or Valkey, 7 and newer. */
export type RedisSettings = Omit<RedisServer, 'tls'> & {
  /** Whether to use TLS; the certificate is then checked. */
  readonly ssl: boolean;
};

/** A page of 10,000 fingerprints takes a tenth of a second. */
const TIMES = { connect: 5_000, command: 5_000, silence: 5_000, retry: redisRetryMs };

/**
 * One connection that reconnects by itself for ever. While it is down, scripts fail at once; one that was under way
 * when it broke fails too, and may or may not have run.
 */
export class RedisConnection {
  readonly #redis: Redis;
  /** Why the last connection attempt failed; ioredis tells it apart from the commands that fail for it. */
  #lastError: Error | undefined;

  constructor({ ssl, ...server }: RedisSettings) {
    this.#redis = new Redis(redisOptions({ ...server, tls: ssl ? 'verified' : 'off' }, TIMES));
    this.#redis.on('error', (error: Error) => {
      this.#lastError = error;
    });
    this.#redis.on('ready', () => {
      this.#lastError = undefined;
    });
  }

  /** Resolves when scripts can be run. When it fails, further attempts go on in the background. */
  async connect(): Promise<void> {
    try {
      if (this.#redis.status !== 'ready') await this.#redis.connect();
    } catch (error) {
      throw this.#asStateError(error);
    }
  }

  /** RunHistory a script in one round trip, or two when the server has forgotten it. */
  async run(
    script: RedisScript,
    keys: readonly string[],
    values: readonly (string | number | Buffer)[] = [],
  ): Promise<RedisReply> {
    try {
      return await evaluate(this.#redis, script, keys, values);
    } catch (error) {
      throw this.#asStateError(error);
    }
  }

  close(): void {
    this.#redis.disconnect();
  }

  /** A script's own fault stays as it is; all else means that the server cannot serve now. */
  #asStateError(error: unknown): unknown {
    const code = replyCode(error);
    if (code === 'ERR') return error;
    const cause = code === undefined ? (this.#lastError ?? error) : error;
    return new StateUnavailable(`Redis is unavailable: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
  }
}
