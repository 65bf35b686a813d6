import type { FirstTexts, FirstTextTime } from '../first-texts.ts';
import { repeatableScript } from './lua-scripts.ts';
import type { RedisConnection } from './redis-connection.ts';
import type { RedisKeys } from './redis-keys.ts';

/** So much longer than the text the key lives: the caller's clock decides. */
const GRACE_MS = 60_000;

const KEEP = repeatableScript('first-texts/keep');
const FIND = repeatableScript('first-texts/find');

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
