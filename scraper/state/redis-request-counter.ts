import type { RateLimit, RequestCounter } from '../requests/rate-limit.ts';
import { LUA } from './lua-scripts.ts';
import type { RedisConnection } from './redis-connection.ts';
import type { RedisKeys } from './redis-keys.ts';

const TAKE = LUA.script('requests/take');

/** Requests of all pods are counted together. */
export class RedisRequestCounter implements RequestCounter {
  readonly #connection: RedisConnection;
  readonly #keys: RedisKeys;

  constructor(connection: RedisConnection, keys: RedisKeys) {
    this.#connection = connection;
    this.#keys = keys;
  }

  async reserve(host: string, { requests, perMs, burst }: RateLimit): Promise<number> {
    return Number(await this.#connection.run(TAKE, [this.#keys.rate(host)], [requests, perMs, burst]));
  }
}
