import type { RedisReply } from '../../../lib/redis/redis-script.ts';
import type { CallLimits, HeldPlaces, LimitedCall, Refused, Taking } from '../call-limits.ts';
import { repeatableScript } from './lua-scripts.ts';
import type { RedisConnection } from './redis-connection.ts';
import type { RedisKeys } from './redis-keys.ts';

const TAKE = repeatableScript('limits/take');
const RENEW = repeatableScript('limits/renew');
const LEAVE = repeatableScript('limits/leave');

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

/** The keys that `take_limits` needs. */
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

/** The keys that `leave_places` needs. */
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
