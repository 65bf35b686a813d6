import type {
  Begun,
  FileKey,
  FileKind,
  FilePage,
  FileRecord,
  FileRecords,
  FileTotals,
  LockGuard,
  Reserved,
  ReserveRequest,
} from '../file-records.ts';
import { isThere, oldestFirst, sessionOf } from '../tables/file-rules.ts';
import type { RedisConnection } from './redis-connection.ts';
import {
  decodeFile,
  decodeFiles,
  decodeTotals,
  encodeFile,
  fileField,
  kindLetter,
  TOTALS_FIELDS,
} from './redis-file.ts';
import * as scripts from './redis-file-scripts.ts';
import type { RedisFileSteps } from './redis-file-steps.ts';
import { expireFiles, purgeAbandoned, purgeFiles } from './redis-file-sweeps.ts';
import type { RedisKeys } from './redis-keys.ts';
import type { SessionKey } from '../session-key.ts';
import type { StoreClock } from './store-clock.ts';

const REFUSED = ['no_session', 'taken', 'limit', 'full'] as const;

/** Sessions whose files `clear` removes at the same time. */
const CLEARED_AT_ONCE = 200;

/**
 * The records of files in Redis. Steps on one session are one script and one round trip each, but for the purge of many
 * files; those on many sessions, such as `expire`, are one for each session.
 */
export class RedisFiles implements FileRecords {
  readonly #connection: RedisConnection;
  readonly #keys: RedisKeys;
  readonly #steps: RedisFileSteps;
  readonly #clock: Pick<StoreClock, 'now'>;

  constructor(steps: RedisFileSteps, clock: Pick<StoreClock, 'now'>) {
    this.#connection = steps.connection;
    this.#keys = steps.keys;
    this.#steps = steps;
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.now();
  }

  async begin(
    files: readonly FileRecord[],
    { now, maxArtifacts }: { now: number; maxArtifacts: number | null },
  ): Promise<Begun> {
    const session = sessionOf(files);
    if (session === undefined) return 'begun';
    const fields = files.flatMap((record) => encodeFile({ ...record, state: 'pending' }, 0));
    const reply = await this.#steps.change(
      scripts.BEGIN,
      session,
      [now, maxArtifacts ?? '', ...fields],
      this.#keys.servers,
    );
    return REFUSED.find((refused) => refused === reply) ?? 'begun';
  }

  async reserve(key: FileKey, request: ReserveRequest): Promise<Reserved> {
    const { bytes, now, leaseUntil, maxTotal, maxSession, evictFirst } = request;
    const limits = [maxTotal ?? '', maxSession ?? '', kindLetter(evictFirst)];
    const values = [fileField(key), bytes, now, leaseUntil, ...limits];
    const reply = await this.#steps.change(scripts.RESERVE_BYTES, key, values);
    if (reply === 'gone') return { state: 'gone' };
    if (reply === 'session' || reply === 'storage') return { state: 'over', quota: reply };
    return { state: 'reserved', evicted: decodeFiles(key, reply) };
  }

  async commit(files: readonly FileRecord[], { now, guard }: { now: number; guard?: LockGuard }): Promise<boolean> {
    const session = sessionOf(files);
    if (session === undefined) return true;
    const fields = files.flatMap((record) =>
      encodeFile({ ...record, state: 'committed' }, record.leaseUntil > now ? 1 : 0),
    );
    const lock = guard === undefined ? [] : [this.#keys.lock(guard.name)];
    return (await this.#steps.change(scripts.COMMIT, session, [guard?.owner ?? '', ...fields], ...lock)) === 1;
  }

  async revise(file: FileRecord, { now, from }: { now: number; from: number }): Promise<boolean> {
    const fields = encodeFile({ ...file, state: 'committed', lastUsedAt: now }, 0);
    return (await this.#steps.change(scripts.REVISE, file, [from, ...fields])) === 1;
  }

  async lease(keys: readonly FileKey[], leaseUntil: number): Promise<void> {
    await this.#steps.changeEach(scripts.LEASE, keys, leaseUntil);
  }

  async release(keys: readonly FileKey[], now: number): Promise<void> {
    await this.#steps.changeEach(scripts.RELEASE, keys, now);
  }

  async find(key: FileKey, { now, ttlMs }: { now: number; ttlMs: number | null }): Promise<FileRecord | undefined> {
    const name = this.#keys.name(key);
    const field = fileField(key);
    const keys = [this.#keys.session(name), this.#keys.files(name)];
    const reply = await this.#connection.script(scripts.FIND_FILE, keys, [field, now, ttlMs ?? '']);
    return decodeFile(key, field, reply);
  }

  async use(
    key: FileKey,
    { now, ttlMs, leaseUntil }: { now: number; ttlMs: number | null; leaseUntil?: number },
  ): Promise<FileRecord | undefined> {
    const field = fileField(key);
    const reply = await this.#steps.change(scripts.USE, key, [field, now, ttlMs ?? '', leaseUntil ?? 0]);
    return decodeFile(key, field, reply);
  }

  async list(
    session: SessionKey,
    kind: FileKind,
    options: { now: number; ttlMs: number | null },
  ): Promise<FileRecord[]> {
    const { now } = options;
    const name = this.#keys.name(session);
    const keys = [this.#keys.session(name), this.#keys.files(name)];
    const files = decodeFiles(session, await this.#connection.script(scripts.LIST, keys, [now]));
    return files.filter((record) => record.kind === kind && isThere(record, options)).sort(oldestFirst);
  }

  async remove(key: FileKey): Promise<FileRecord | undefined> {
    const field = fileField(key);
    return decodeFile(key, field, await this.#steps.change(scripts.REMOVE_FILE, key, [field]));
  }

  async purge(session: SessionKey): Promise<FileRecord[]> {
    return (await purgeFiles(this.#steps, session)).files;
  }

  expire(options: Parameters<FileRecords['expire']>[0]): Promise<FileRecord[]> {
    return expireFiles(this.#steps, options);
  }

  purgeAbandoned(options: { now: number; limit: number }): Promise<FileRecord[]> {
    return purgeAbandoned(this.#steps, options.limit);
  }

  async known(sessionId: string, fileIds: readonly string[]): Promise<Set<string>> {
    if (fileIds.length === 0) return new Set();
    const fields = fileIds.flatMap((fileId) => [`u${fileId}`, `a${fileId}`]);
    const names = await this.#namesOf(sessionId);
    const values = await Promise.all(
      names.map((name) => this.#connection.run((redis) => redis.hmget(this.#keys.files(name), ...fields))),
    );
    return new Set(
      fileIds.filter((_, index) =>
        values.some((ofServer) => typeof (ofServer[2 * index] ?? ofServer[2 * index + 1]) === 'string'),
      ),
    );
  }

  async page(cursor: string | undefined, limit: number): Promise<FilePage> {
    const { uploads, artifacts } = this.#keys;
    const [index = '', from = ''] =
      cursor?.startsWith(`${artifacts}\n`) || cursor?.startsWith(`${uploads}\n`) ? cursor.split('\n') : [uploads, '0'];
    const [to, reply] = await this.#connection.run((redis) => redis.zscan(index, from, 'COUNT', limit));
    const members = reply.filter((_, place) => place % 2 === 0).map((member) => member.split('\n'));
    const groups = Map.groupBy(members, ([name = '']) => name);
    const files = await Promise.all(
      Array.from(groups, async ([name, group]) => {
        const fields = group.map(([, field = '']) => field);
        const values = await this.#connection.run((redis) => redis.hmget(this.#keys.files(name), ...fields));
        return decodeFiles(
          this.#keys.parse(name),
          fields.flatMap((field, place) => [field, values[place] ?? null]),
        );
      }),
    );
    const next = to === '0' ? (index === uploads ? `${artifacts}\n0` : undefined) : `${index}\n${to}`;
    return { files: files.flat().filter(({ state }) => state === 'committed'), next };
  }

  async ownerOf(sessionId: string): Promise<string | undefined> {
    const names = await this.#namesOf(sessionId);
    const sessions = await Promise.all(
      names.map((name) =>
        this.#connection.run((redis) => redis.hmget(this.#keys.session(name), 'principal', 'reason')),
      ),
    );
    const [owner, ...others] = names.filter((_, index) => {
      const [principal, reason] = sessions[index] ?? [];
      return typeof principal === 'string' && typeof reason !== 'string';
    });
    return owner === undefined || others.length > 0 ? undefined : this.#keys.parse(owner).serverId;
  }

  async adopt(files: readonly FileRecord[]): Promise<number> {
    const groups = Map.groupBy(files, (record) => this.#keys.name(record));
    const adopted = await Promise.all(
      Array.from(groups, ([name, records]) => {
        const fields = records.flatMap((record) => encodeFile({ ...record, state: 'committed' }, 0));
        return this.#steps.change(scripts.ADOPT, this.#keys.parse(name), fields, this.#keys.servers);
      }),
    );
    return adopted.reduce<number>((sum, count) => sum + Number(count), 0);
  }

  async totals(): Promise<FileTotals> {
    const { fileTotals } = this.#keys;
    return decodeTotals(await this.#connection.run((redis) => redis.hmget(fileTotals, ...TOTALS_FIELDS), 'now'));
  }

  /** The session lives on, and so must what is known of its files. */
  async keep(session: SessionKey): Promise<void> {
    await this.#steps.change(scripts.KEEP, session, [], this.#keys.servers);
  }

  /** Forgets all files. */
  async clear(): Promise<void> {
    const { fileSessions, fileTotals, uploads, artifacts, pendingFiles } = this.#keys;
    for (;;) {
      const names = await this.#connection.run((redis) => redis.zrange(fileSessions, '0', String(CLEARED_AT_ONCE - 1)));
      if (names.length === 0) break;
      await Promise.all(names.map((name) => this.purge(this.#keys.parse(name))));
    }
    await this.#connection.run((redis) => redis.del(fileTotals, uploads, artifacts, pendingFiles));
  }

  async #namesOf(sessionId: string): Promise<string[]> {
    const servers = await this.#connection.run((redis) => redis.smembers(this.#keys.servers));
    return servers.map((server) => `${server}:${sessionId}`);
  }
}
