import type { FirstTexts, FirstTextTime } from '../first-texts.ts';
import type { RedisConnection } from './redis-connection.ts';
import type { RedisKeys } from './redis-keys.ts';
import { repeatableScript } from './repeatable.ts';

/** So much longer than the text the key lives: the caller's clock decides. */
const GRACE_MS = 60_000;

/** hash · text, now, expiresAt, live until → text */
const KEEP = repeatableScript(`
  local ends = tonumber(redis.call('HGET', KEYS[1], 'expiresAt') or '0')
  if ends <= tonumber(ARGV[2]) then redis.call('HSET', KEYS[1], 'text', ARGV[1]) end
  redis.call('HSET', KEYS[1], 'expiresAt', ARGV[3])
  redis.call('PEXPIREAT', KEYS[1], ARGV[4])
  return redis.call('HGET', KEYS[1], 'text')`);

/** hash · now, expiresAt, live until → text, or nothing */
const FIND = repeatableScript(`
  local ends = tonumber(redis.call('HGET', KEYS[1], 'expiresAt') or '0')
  if ends <= tonumber(ARGV[1]) then return false end
  redis.call('HSET', KEYS[1], 'expiresAt', ARGV[2])
  redis.call('PEXPIREAT', KEYS[1], ARGV[3])
  return redis.call('HGET', KEYS[1], 'text')`);

/** First texts in Redis: a key each. */
export class RedisFirstTexts implements FirstTexts {
  readonly #connection: RedisConnection;
  readonly #keys: RedisKeys;

  constructor(connection: RedisConnection, keys: RedisKeys) {
    this.#connection = connection;
    this.#keys = keys;
  }

  async find(name: string, { now, expiresAt }: FirstTextTime): Promise<string | undefined> {
    const values = [now, expiresAt, Math.ceil(expiresAt + GRACE_MS)];
    const text = await this.#connection.script(FIND, [this.#keys.firstText(name)], values);
    return text === null ? undefined : String(text);
  }

  async keep(name: string, text: string, { now, expiresAt }: FirstTextTime): Promise<string> {
    const values = [text, now, expiresAt, Math.ceil(expiresAt + GRACE_MS)];
    return String(await this.#connection.script(KEEP, [this.#keys.firstText(name)], values));
  }
}
