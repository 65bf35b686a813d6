/** What the programs have in common where they speak to Redis; each decides for itself which errors mean an outage. */
import type { Redis } from 'ioredis';

/** A Lua script with its hash, which is all that is sent once the server knows it. */
export interface RedisScript {
  readonly source: string;
  readonly sha1: string;
}

/** What a script or command may answer. */
export type RedisReply = string | number | null | RedisReply[];

/** Checks at run time what ioredis leaves unknown. */
export function reply(value: unknown): RedisReply {
  if (value === null || typeof value === 'string' || typeof value === 'number') return value;
  if (Array.isArray(value)) return value.map(reply);
  throw new TypeError(`unexpected reply of a Redis script: ${typeof value}`);
}

/** The first word of an error reply, undefined when the server did not reply. */
export function replyCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || error.name !== 'ReplyError') return undefined;
  return /^-?([A-Z]+)/.exec(error.message)?.[1];
}

const LONGEST_RETRY_MS = 2_000;

/** Before the next attempt to connect, counted from 1. Spread, so that not all pods come back in the same moment. */
export const redisRetryMs = (attempt: number): number =>
  Math.min(50 * 2 ** Math.min(attempt - 1, 10), LONGEST_RETRY_MS) * (0.75 + Math.random() / 4);

/** Runs a script in one round trip, or two when the server has forgotten it. */
export async function evaluate(
  redis: Redis,
  script: RedisScript,
  keys: readonly string[],
  values: readonly (string | number | Buffer)[],
): Promise<RedisReply> {
  try {
    return reply(await redis.evalsha(script.sha1, keys.length, ...keys, ...values));
  } catch (error) {
    if (replyCode(error) !== 'NOSCRIPT') throw error;
    return reply(await redis.eval(script.source, keys.length, ...keys, ...values));
  }
}
