import type { RedisReply } from '../../../lib/redis/redis-script.ts';
import type { CallLimits, HeldPlaces, LimitedCall, Refused, Taking } from '../call-limits.ts';
import type { RedisConnection } from './redis-connection.ts';
import type { RedisKeys } from './redis-keys.ts';
import { LEAVE_PLACES, TAKE_LIMITS } from './redis-limit-lua.ts';
import { LIVE_UNTIL } from './redis-scripts.ts';
import { repeatableScript } from './repeatable.ts';

/** rates and places… · now, id, until, values of limits… → null, or what refuses. Without places, twice takes twice: that admits less, never more. */
const TAKE = repeatableScript(`
  ${LIVE_UNTIL}
  ${TAKE_LIMITS}
  return take_limits(1, 4, ARGV[1], ARGV[2], ARGV[3])`);

/** places… · id, until, calls… */
const RENEW = repeatableScript(`
  ${LIVE_UNTIL}
  for i = 1, #KEYS do
    for n = 0, tonumber(ARGV[2 + i]) - 1 do redis.call('ZADD', KEYS[i], 'XX', ARGV[2], ARGV[1] .. ':' .. n) end
    if redis.call('EXISTS', KEYS[i]) == 1 then live_until(KEYS[i], ARGV[2]) end
  end`);

/** places… · id, calls… */
const LEAVE = repeatableScript(`
  ${LEAVE_PLACES}
  leave_places(1, 2, ARGV[1])`);

/** Limits in Redis: a number for each bucket, and a sorted set for the calls that run. */
export class RedisCallLimits implements CallLimits {
  readonly #connection: RedisConnection;
  readonly #keys: RedisKeys;

  constructor(connection: RedisConnection, keys: RedisKeys) {
    this.#connection = connection;
    this.#keys = keys;
  }

  async take({ id, until, taking }: LimitedCall, now: number): Promise<Refused | undefined> {
    const values = [now, id, Math.ceil(until), ...valuesOf(taking)];
    return refusedOf(await this.#connection.script(TAKE, keysOf(this.#keys, taking), values));
  }

  async renew(calls: readonly HeldPlaces[], until: number): Promise<void> {
    await Promise.all(
      calls.map(({ id, places }) =>
        this.#connection.script(RENEW, placeKeys(this.#keys, places), [id, Math.ceil(until), ...callsOf(places)]),
      ),
    );
  }

  async leave({ id, places }: HeldPlaces): Promise<void> {
    await this.#connection.script(LEAVE, placeKeys(this.#keys, places), [id, ...callsOf(places)]);
  }
}

/** The keys that `TAKE_LIMITS` needs. */
export const keysOf = (keys: RedisKeys, { rates, places }: Taking): string[] => [
  ...rates.map(({ key }) => keys.rate(key)),
  ...placeKeys(keys, places),
];

/** Its values. */
export const valuesOf = ({ rates, places }: Taking): number[] => [
  rates.length,
  ...rates.flatMap(({ intervalUs, burst, calls }) => [intervalUs, burst, calls]),
  ...places.flatMap(({ most, calls }) => [most, calls]),
];

/** The keys that `LEAVE_PLACES` needs. */
export const placeKeys = (keys: RedisKeys, places: HeldPlaces['places']): string[] =>
  places.map(({ key }) => keys.places(key));

/** Its values. */
export const callsOf = (places: HeldPlaces['places']): number[] => places.map(({ calls }) => calls);

/** What a script said of limits; undefined where it said something else. */
export function refusedOf(reply: RedisReply): Refused | undefined {
  if (!Array.isArray(reply) || reply.length !== 3) return undefined;
  const [state, index, us] = reply;
  if (state === 'places') return { state, index: Number(index) };
  return state === 'rate' ? { state, index: Number(index), waitMs: Number(us) / 1000 } : undefined;
}
