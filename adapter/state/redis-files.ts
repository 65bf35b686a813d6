import type {
  FileKey,
  FileKind,
  FilePage,
  FileRecord,
  FileRecords,
  FileTotals,
  LockGuard,
  Reserved,
  ReserveRequest,
} from './file-records.ts';
import { isThere, oldestFirst, sessionOf } from './file-rules.ts';
import type { RedisConnection, RedisReply, RedisScript } from './redis-connection.ts';
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
import type { RedisKeys } from './redis-keys.ts';
import type { SessionKey } from './session-key.ts';

/** Of files that are looked at for their expiry, and of sessions that are looked at whether they exist. */
const PAGE = 200;

/**
 * The records of files in Redis. Steps on one session are one script and one round trip each; those on many, such as
 * `expire`, are one for each session.
 */
export class RedisFiles implements FileRecords {
  readonly #connection: RedisConnection;
  readonly #keys: RedisKeys;
  readonly #keyTtlMs: number;

  /** `keyTtlMs`: how long what was written is kept at least; more than a session lives without activity. */
  constructor(connection: RedisConnection, keys: RedisKeys, keyTtlMs: number) {
    this.#connection = connection;
    this.#keys = keys;
    this.#keyTtlMs = keyTtlMs;
  }

  async begin(
    files: readonly FileRecord[],
    { now, maxArtifacts }: { now: number; maxArtifacts: number | null },
  ): Promise<'begun' | 'no_session' | 'limit'> {
    const session = sessionOf(files);
    if (session === undefined) return 'begun';
    const fields = files.flatMap((record) => encodeFile({ ...record, state: 'pending' }, 0));
    const reply = await this.#change(scripts.BEGIN, session, [now, maxArtifacts ?? '', ...fields], this.#keys.servers);
    return reply === 'no_session' || reply === 'limit' ? reply : 'begun';
  }

  async reserve(key: FileKey, request: ReserveRequest): Promise<Reserved> {
    const { bytes, now, leaseUntil, maxTotal, maxSession, evictFirst } = request;
    const limits = [maxTotal ?? '', maxSession ?? '', kindLetter(evictFirst)];
    const values = [fileField(key), bytes, now, leaseUntil, ...limits];
    const reply = await this.#change(scripts.RESERVE_BYTES, key, values);
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
    return (await this.#change(scripts.COMMIT, session, [guard?.owner ?? '', ...fields], ...lock)) === 1;
  }

  async lease(keys: readonly FileKey[], leaseUntil: number): Promise<void> {
    await this.#changeEach(scripts.LEASE, keys, leaseUntil);
  }

  async release(keys: readonly FileKey[], now: number): Promise<void> {
    await this.#changeEach(scripts.RELEASE, keys, now);
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
    const reply = await this.#change(scripts.USE, key, [field, now, ttlMs ?? '', leaseUntil ?? 0]);
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
    return decodeFile(key, field, await this.#change(scripts.REMOVE_FILE, key, [field]));
  }

  async purge(session: SessionKey): Promise<FileRecord[]> {
    return decodeFiles(session, await this.#change(scripts.PURGE, session, ['']));
  }

  async expire(options: {
    now: number;
    uploadTtlMs: number | null;
    artifactTtlMs: number | null;
    limit: number;
  }): Promise<FileRecord[]> {
    const { now, uploadTtlMs, artifactTtlMs, limit } = options;
    const { pendingFiles, uploads, artifacts } = this.#keys;
    const indexes: [index: string, ttlMs: number | null][] = [
      [pendingFiles, 0],
      [uploads, uploadTtlMs],
      [artifacts, artifactTtlMs],
    ];
    const expired: FileRecord[] = [];
    for (const [index, ttlMs] of indexes) {
      if (ttlMs === null) continue;
      let kept = 0;
      while (expired.length < limit) {
        const page = Math.min(PAGE, limit - expired.length);
        const members = await this.#connection.run((redis) =>
          redis.zrangebyscore(index, '-inf', now - ttlMs, 'LIMIT', kept, page),
        );
        if (members.length === 0) break;
        const { gone, files } = await this.#expire(members, [now, uploadTtlMs ?? '', artifactTtlMs ?? '']);
        expired.push(...files);
        kept += members.length - gone;
      }
    }
    return expired;
  }

  async purgeAbandoned({ limit }: { now: number; limit: number }): Promise<FileRecord[]> {
    const { fileSessions, fileTotals } = this.#keys;
    const purged: FileRecord[] = [];
    let [sessions, kept, lost] = [0, 0, false];
    while (sessions < limit) {
      const names = await this.#connection.run((redis) =>
        redis.zrange(fileSessions, String(kept), String(kept + PAGE - 1)),
      );
      if (names.length === 0) break;
      const gone = (await this.#goneOf(names)).slice(0, limit - sessions);
      const replies = await Promise.all(gone.map((name) => this.#change(scripts.PURGE, this.#keys.parse(name), ['1'])));
      for (const [index, reply] of replies.entries()) {
        if (reply === 0) lost = true;
        purged.push(...decodeFiles(this.#keys.parse(gone[index] ?? ''), reply));
      }
      sessions += gone.length;
      kept += names.length - gone.length;
    }
    if (lost) {
      const values = [this.#keys.files(''), this.#keyTtlMs];
      await this.#connection.script(scripts.RECOUNT, [fileSessions, fileTotals], values);
    }
    return purged;
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
        return this.#change(scripts.ADOPT, this.#keys.parse(name), fields, this.#keys.servers);
      }),
    );
    return adopted.reduce<number>((sum, count) => sum + Number(count), 0);
  }

  async totals(): Promise<FileTotals> {
    return decodeTotals(await this.#connection.run((redis) => redis.hmget(this.#keys.fileTotals, ...TOTALS_FIELDS)));
  }

  /** The session lives on, and so must what is known of its files. */
  async keep(session: SessionKey): Promise<void> {
    await this.#change(scripts.KEEP, session, [], this.#keys.servers);
  }

  /** Forgets all files. */
  async clear(): Promise<void> {
    const { fileSessions, fileTotals, uploads, artifacts, pendingFiles } = this.#keys;
    for (;;) {
      const names = await this.#connection.run((redis) => redis.zrange(fileSessions, '0', String(PAGE - 1)));
      if (names.length === 0) break;
      await Promise.all(names.map((name) => this.purge(this.#keys.parse(name))));
    }
    await this.#connection.run((redis) => redis.del(fileTotals, uploads, artifacts, pendingFiles));
  }

  /** Members of an index whose time has come: which of them are gone from it now, and the files that were removed. */
  async #expire(
    members: readonly string[],
    values: readonly (string | number)[],
  ): Promise<{ gone: number; files: FileRecord[] }> {
    const split = members.map((member) => member.split('\n'));
    const bySession = Map.groupBy(split, ([name = '']) => name);
    const replies = await Promise.all(
      Array.from(bySession, async ([name, group]) => {
        const session = this.#keys.parse(name);
        const fields = group.map(([, field = '']) => field);
        const reply = await this.#change(scripts.EXPIRE_FILES, session, [...values, ...fields]);
        const [gone, ...files] = Array.isArray(reply) ? reply : [];
        return { gone: Number(gone ?? 0), files: decodeFiles(session, files) };
      }),
    );
    return {
      gone: replies.reduce((sum, { gone }) => sum + gone, 0),
      files: replies.flatMap(({ files }) => files),
    };
  }

  async #goneOf(names: readonly string[]): Promise<string[]> {
    const sessions = names.map((name) => this.#keys.session(name));
    const files = names.map((name) => this.#keys.files(name));
    const reply = await this.#connection.script(scripts.GONE, [...sessions, ...files], []);
    return Array.isArray(reply) ? reply.map((index) => names[Number(index)] ?? '') : [];
  }

  async #namesOf(sessionId: string): Promise<string[]> {
    const servers = await this.#connection.run((redis) => redis.smembers(this.#keys.servers));
    return servers.map((server) => `${server}:${sessionId}`);
  }

  /** Runs a script that changes the files of one session. */
  #change(
    script: RedisScript,
    session: SessionKey,
    values: readonly (string | number)[],
    ...more: readonly string[]
  ): Promise<RedisReply> {
    const name = this.#keys.name(session);
    const { fileSessions, fileTotals, uploads, artifacts, pendingFiles } = this.#keys;
    const ofSession = [this.#keys.session(name), this.#keys.files(name)];
    const keys = [...ofSession, fileSessions, fileTotals, uploads, artifacts, pendingFiles, ...more];
    return this.#connection.script(script, keys, [name, this.#keyTtlMs, ...values]);
  }

  async #changeEach(script: RedisScript, keys: readonly FileKey[], value: number): Promise<void> {
    const groups = Map.groupBy(keys, (key) => this.#keys.name(key));
    await Promise.all(
      Array.from(groups, ([name, group]) =>
        this.#change(script, this.#keys.parse(name), [value, ...group.map(fileField)]),
      ),
    );
  }
}
