import type { RedisReply } from '../../../lib/redis/redis-script.ts';
import type { FileKey } from '../file-records.ts';
import type { RedisConnection } from './redis-connection.ts';
import { fileField } from './redis-file.ts';
import type { RedisKeys } from './redis-keys.ts';
import type { StoreScript } from './lua-scripts.ts';
import type { SessionKey } from '../session-key.ts';

/** Runs the scripts of redis-file-scripts.ts that change the files of one session. */
export class RedisFileSteps {
  readonly connection: RedisConnection;
  readonly keys: RedisKeys;
  /** How long what was written is kept at least; more than a session lives without activity. */
  readonly keyTtlMs: number;

  constructor(connection: RedisConnection, keys: RedisKeys, keyTtlMs: number) {
    this.connection = connection;
    this.keys = keys;
    this.keyTtlMs = keyTtlMs;
  }

  /** `more`: keys besides those that every script is given. */
  change(
    script: StoreScript,
    session: SessionKey,
    values: readonly (string | number)[],
    ...more: readonly string[]
  ): Promise<RedisReply> {
    const name = this.keys.name(session);
    const { fileSessions, fileTotals, uploads, artifacts, pendingFiles } = this.keys;
    const ofSession = [this.keys.session(name), this.keys.files(name)];
    const keys = [...ofSession, fileSessions, fileTotals, uploads, artifacts, pendingFiles, ...more];
    return this.connection.script(script, keys, [name, this.keyTtlMs, ...values]);
  }

  /** The same script for the files of several sessions, one step each. */
  async changeEach(script: StoreScript, keys: readonly FileKey[], value: number): Promise<void> {
    const groups = Map.groupBy(keys, (key) => this.keys.name(key));
    await Promise.all(
      Array.from(groups, ([name, group]) =>
        this.change(script, this.keys.parse(name), [value, ...group.map(fileField)]),
      ),
    );
  }
}
