import type { RedisReply } from '../../../lib/redis/redis-script.ts';
import type { SessionRecord } from '../state-store.ts';
import type { RedisConnection } from './redis-connection.ts';
import type { RedisKeys } from './redis-keys.ts';
import * as scripts from './redis-scripts.ts';
import { decodeSession } from './redis-session.ts';

const DAY_MS = 24 * 3_600_000;
/** Tombstones stay readable so long after their end, for the cleanup that removes their files. */
export const TOMBSTONE_GRACE_MS = DAY_MS;
/**
 * What is known of files outlives the session by so much, that is, the grace of its tombstone too: the cleanup finds
 * all files of a session that has gone.
 */
export const FILES_GRACE_MS = 2 * DAY_MS;
const PAGE = 100;

/** The cleanups of RedisStore: each looks through an index and takes one step for each session that it finds there. */
export class RedisSessionSweeps {
  readonly #connection: RedisConnection;
  readonly #keys: RedisKeys;
  /** When Redis forgets what nobody renews. */
  readonly #keyTtlMs: number;

  constructor(connection: RedisConnection, keys: RedisKeys, keyTtlMs: number) {
    this.#connection = connection;
    this.#keys = keys;
    this.#keyTtlMs = keyTtlMs;
  }

  async idle(options: {
    now: number;
    idleBefore: number;
    tombstoneUntil: number | null;
    limit: number;
  }): Promise<SessionRecord[]> {
    const { now, idleBefore, tombstoneUntil, limit } = options;
    const until = (graceMs: number) => (tombstoneUntil === null ? '' : Math.ceil(tombstoneUntil + graceMs));
    const values = [now, idleBefore, tombstoneUntil ?? '', until(TOMBSTONE_GRACE_MS), until(FILES_GRACE_MS)];
    const { servers, fileSessions, fileTotals, uploads, artifacts, pendingFiles } = this.#keys;
    const ofFiles = [servers, fileSessions, fileTotals, uploads, artifacts, pendingFiles];
    const expire = (name: string) => {
      const keys = [...this.#keys.allOf(name), this.#keys.files(name), ...ofFiles];
      return this.#connection.script(scripts.EXPIRE_IDLE, keys, [name, ...values]);
    };
    return this.#endMembers(this.#keys.active, `(${idleBefore}`, limit, expire);
  }

  async workspaces(options: { now: number; idleBefore: number; limit: number }): Promise<SessionRecord[]> {
    const { now, idleBefore, limit } = options;
    const { workspaces } = this.#keys;
    return this.#endMembers(workspaces, `(${idleBefore}`, limit, (name) => {
      const keys = [...this.#keys.allOf(name), workspaces, this.#keys.files(name)];
      return this.#connection.script(scripts.EXPIRE_WORKSPACE, keys, [name, now, idleBefore, this.#keyTtlMs]);
    });
  }

  async tombstones({ now, limit }: { now: number; limit: number }): Promise<SessionRecord[]> {
    const { tombstones } = this.#keys;
    return this.#endMembers(tombstones, now, limit, (name) =>
      this.#connection.script(scripts.EXPIRE_TOMBSTONE, [this.#keys.session(name), tombstones], [name, now]),
    );
  }

  /**
   * Takes a step for each session that an index has up to `max`, until `limit` have ended. Those that are kept for
   * their calls or files (1) stay at the front of the index and are passed over.
   */
  async #endMembers(
    index: string,
    max: string | number,
    limit: number,
    end: (name: string) => Promise<RedisReply>,
  ): Promise<SessionRecord[]> {
    const ended: SessionRecord[] = [];
    let kept = 0;
    while (ended.length < limit) {
      const page = Math.min(PAGE, limit - ended.length);
      const names = await this.#connection.run((redis) => redis.zrangebyscore(index, '-inf', max, 'LIMIT', kept, page));
      if (names.length === 0) break;
      for (const [place, reply] of (await Promise.all(names.map(end))).entries()) {
        const session = decodeSession(this.#keys.parse(names[place] ?? ''), reply);
        if (session !== undefined) ended.push(session.record);
        if (reply === 1) kept += 1;
      }
    }
    return ended;
  }
}
