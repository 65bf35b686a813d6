import type { RedisReply } from '../../../lib/redis/redis-script.ts';
import { valid } from '../tables/nonce-table.ts';
import { repeatableScript, script } from './lua-scripts.ts';
import type { RedisConnection } from './redis-connection.ts';
import type { RedisKeys } from './redis-keys.ts';
import type { UploadNonces, UploadPermission } from '../upload-nonces.ts';

/** So much longer than the nonce the key lives: the caller's clock decides. */
const GRACE_MS = 60_000;
const PAGE = 1_000;

const ISSUE = repeatableScript('nonces/issue');
const CONSUME = script('nonces/consume');

/** Nonces in Redis: a key each, and an index for `clear`. */
export class RedisNonces implements UploadNonces {
  readonly #connection: RedisConnection;
  readonly #keys: RedisKeys;

  constructor(connection: RedisConnection, keys: RedisKeys) {
    this.#connection = connection;
    this.#keys = keys;
  }

  async issue(nonce: string, permission: UploadPermission, now: number): Promise<boolean> {
    const { serverId, sessionId, principal, toolName, elicitationId, expiresAt } = permission;
    const text = JSON.stringify({ serverId, sessionId, principal, toolName, elicitationId, expiresAt });
    const values = [nonce, now, expiresAt, Math.ceil(expiresAt + GRACE_MS), text];
    return (await this.#connection.script(ISSUE, [this.#keys.nonce(nonce), this.#keys.nonces], values)) === 1;
  }

  async find(nonce: string, now: number): Promise<UploadPermission | undefined> {
    return valid(decode(await this.#connection.run((redis) => redis.get(this.#keys.nonce(nonce)))), now);
  }

  async consume(nonce: string, now: number): Promise<UploadPermission | undefined> {
    const keys = [this.#keys.nonce(nonce), this.#keys.nonces];
    return valid(decode(await this.#connection.script(CONSUME, keys, [nonce])), now);
  }

  async clear(): Promise<void> {
    const { nonces } = this.#keys;
    for (;;) {
      const page = await this.#connection.run((redis) => redis.zrange(nonces, '0', String(PAGE - 1)));
      if (page.length === 0) return;
      const keys = page.map((nonce) => this.#keys.nonce(nonce));
      await this.#connection.run((redis) => Promise.all([redis.del(...keys), redis.zrem(nonces, ...page)]));
    }
  }
}

function decode(reply: RedisReply): UploadPermission | undefined {
  if (typeof reply !== 'string') return undefined;
  const value: unknown = JSON.parse(reply);
  return value as UploadPermission;
}
