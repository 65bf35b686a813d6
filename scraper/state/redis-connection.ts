import { isIP } from 'node:net';
import { Redis } from 'ioredis';
import { type RedisReply, type RedisScript, redisRetryMs, reply, replyCode } from '../../crds/runtime/redis-script.ts';
import { StateUnavailable } from './ledger.ts';

/** Where Redis or Valkey (7 and newer) is: `fingerprintStore.valkey`. */
export interface RedisServer {
  readonly host: string;
  readonly port: number;
  readonly db: number;
  readonly username: string | null;
  readonly password: string | null;
  /** Whether to use TLS; the certificate is then checked. */
  readonly ssl: boolean;
}

const CONNECT_TIMEOUT_MS = 5_000;
/** A page of 10,000 fingerprints takes a tenth of a second. */
const COMMAND_TIMEOUT_MS = 5_000;

/**
 * One connection that reconnects by itself for ever. While it is down, scripts fail at once; one that was under way
 * when it broke fails too, and may or may not have run.
 */
export class RedisConnection {
  readonly #redis: Redis;
  /** Why the last connection attempt failed; ioredis tells it apart from the commands that fail for it. */
  #lastError: Error | undefined;

  constructor(server: RedisServer) {
    const { host, port, db, username, password, ssl } = server;
    // RFC 6066, section 3: an address is no server name; the certificate is checked against it all the same.
    const tls = ssl ? { servername: isIP(host) === 0 ? host : undefined } : undefined;
    this.#redis = new Redis({
      host,
      port,
      db,
      username: username ?? undefined,
      password: password === null || password === '' ? undefined : password,
      tls,
      lazyConnect: true,
      connectTimeout: CONNECT_TIMEOUT_MS,
      commandTimeout: COMMAND_TIMEOUT_MS,
      socketTimeout: COMMAND_TIMEOUT_MS,
      retryStrategy: redisRetryMs,
      // Asking with INFO takes a right that nothing else needs; a server that still loads says so to the first command.
      enableReadyCheck: false,
      // An outage must show at once.
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      autoResendUnfulfilledCommands: false,
    });
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

  /** Runs a script in one round trip, or two when the server has forgotten it. */
  async run(
    script: RedisScript,
    keys: readonly string[],
    values: readonly (string | number | Buffer)[] = [],
  ): Promise<RedisReply> {
    try {
      return reply(await this.#redis.evalsha(script.sha1, keys.length, ...keys, ...values));
    } catch (error) {
      if (replyCode(error) !== 'NOSCRIPT') throw this.#asStateError(error);
    }
    try {
      return reply(await this.#redis.eval(script.source, keys.length, ...keys, ...values));
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
