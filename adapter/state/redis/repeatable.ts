import { redisScript, type RedisScript } from '../../../lib/redis/redis-script.ts';

export interface StoreScript extends RedisScript {
  /** May be run again when nobody knows whether it was: doing it twice in a row is doing it once. */
  readonly isRepeatable?: boolean;
}

export const repeatableScript = (source: string): StoreScript => ({ ...redisScript(source), isRepeatable: true });
