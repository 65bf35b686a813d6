import type { FileRecord } from '../file-records.ts';
import { decodeFiles } from './redis-file.ts';
import * as scripts from './redis-file-scripts.ts';
import type { RedisFileSteps } from './redis-file-steps.ts';
import type { SessionKey } from '../session-key.ts';

/*
 * The cleanups of RedisFiles. They look through an index and take one step for each session that they find in it.
 */

/** Of files that are looked at for their expiry, and of sessions that are looked at whether they exist. */
const PAGE = 200;

/** See `FileRecords.expire`. */
export async function expireFiles(
  steps: RedisFileSteps,
  options: {
    now: number;
    uploadTtlMs: number | null;
    artifactTtlMs: number | null;
    limit: number;
  },
): Promise<FileRecord[]> {
  const { now, uploadTtlMs, artifactTtlMs, limit } = options;
  const { pendingFiles, uploads, artifacts } = steps.keys;
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
      const members = await steps.connection.run((redis) =>
        redis.zrangebyscore(index, '-inf', now - ttlMs, 'LIMIT', kept, page),
      );
      if (members.length === 0) break;
      const { gone, files } = await expireMembers(steps, members, [now, uploadTtlMs ?? '', artifactTtlMs ?? '']);
      expired.push(...files);
      kept += members.length - gone;
    }
  }
  return expired;
}

/** See `FileRecords.purgeAbandoned`; also puts totals right that Redis made wrong by forgetting a session's files. */
export async function purgeAbandoned(steps: RedisFileSteps, limit: number): Promise<FileRecord[]> {
  const { fileSessions, fileTotals } = steps.keys;
  const purged: FileRecord[] = [];
  let [sessions, kept, lost] = [0, 0, false];
  while (sessions < limit) {
    const names = await steps.connection.run((redis) =>
      redis.zrange(fileSessions, String(kept), String(kept + PAGE - 1)),
    );
    if (names.length === 0) break;
    const gone = (await goneOf(steps, names)).slice(0, limit - sessions);
    const purges = await Promise.all(gone.map((name) => purgeFiles(steps, steps.keys.parse(name), { ifGone: true })));
    for (const { files, forgotten } of purges) {
      if (forgotten) lost = true;
      for (const file of files) purged.push(file);
    }
    sessions += gone.length;
    kept += names.length - gone.length;
  }
  if (lost) {
    const values = [steps.keys.files(''), steps.keyTtlMs];
    await steps.connection.script(scripts.RECOUNT, [fileSessions, fileTotals], values);
  }
  return purged;
}

/**
 * Removes the files of a session, some in each step; with `ifGone` those of a session that is gone only. `forgotten`:
 * Redis had lost them.
 */
export async function purgeFiles(
  steps: RedisFileSteps,
  session: SessionKey,
  { ifGone = false }: { ifGone?: boolean } = {},
): Promise<{ files: FileRecord[]; forgotten: boolean }> {
  const files: FileRecord[] = [];
  for (;;) {
    const reply = await steps.change(scripts.PURGE, session, [ifGone ? '1' : '']);
    if (!Array.isArray(reply)) return { files, forgotten: true };
    const [more, ...removed] = reply;
    for (const file of decodeFiles(session, removed)) files.push(file);
    if (more !== 1) return { files, forgotten: false };
  }
}

/** Members of an index whose time has come: which of them are gone from it now, and the files that were removed. */
async function expireMembers(
  steps: RedisFileSteps,
  members: readonly string[],
  values: readonly (string | number)[],
): Promise<{ gone: number; files: FileRecord[] }> {
  const split = members.map((member) => member.split('\n'));
  const bySession = Map.groupBy(split, ([name = '']) => name);
  const replies = await Promise.all(
    Array.from(bySession, async ([name, group]) => {
      const session = steps.keys.parse(name);
      const fields = group.map(([, field = '']) => field);
      const reply = await steps.change(scripts.EXPIRE_FILES, session, [...values, ...fields]);
      const [gone, ...files] = Array.isArray(reply) ? reply : [];
      return { gone: Number(gone ?? 0), files: decodeFiles(session, files) };
    }),
  );
  return {
    gone: replies.reduce((sum, { gone }) => sum + gone, 0),
    files: replies.flatMap(({ files }) => files),
  };
}

async function goneOf(steps: RedisFileSteps, names: readonly string[]): Promise<string[]> {
  const sessions = names.map((name) => steps.keys.session(name));
  const files = names.map((name) => steps.keys.files(name));
  const reply = await steps.connection.script(scripts.GONE, [...sessions, ...files], []);
  return Array.isArray(reply) ? reply.map((index) => names[Number(index)] ?? '') : [];
}
