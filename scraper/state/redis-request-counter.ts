import { redisScript } from '../../lib/redis/redis-script.ts';
import type { RateLimit, RequestCounter } from '../requests/rate-limit.ts';
import type { RedisConnection } from './redis-connection.ts';
import type { RedisKeys } from './redis-keys.ts';

/** host · requests, milliseconds that they are for, burst → milliseconds to wait. As `reservation`, by the server's clock. */
const TAKE = redisScript(`
  local time = redis.call('TIME')
  local now = time[1] * 1000 + time[2] / 1000
  local share = ARGV[2] / ARGV[1]
  local from = math.max(tonumber(redis.call('GET', KEYS[1]) or now), now)
  local next_at = from + share
  redis.call('SET', KEYS[1], string.format('%.3f', next_at), 'PX', math.max(1, math.ceil(next_at - now)))
  return math.max(0, math.ceil(from - (ARGV[3] - 1) * share - now))`);

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
