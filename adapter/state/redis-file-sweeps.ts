import type { FileRecord } from './file-records.ts';
import { decodeFiles } from './redis-file.ts';
import * as scripts from './redis-file-scripts.ts';
import type { RedisFileSteps } from './redis-file-steps.ts';

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
    const replies = await Promise.all(gone.map((name) => steps.change(scripts.PURGE, steps.keys.parse(name), ['1'])));
    for (const [index, reply] of replies.entries()) {
      if (reply === 0) lost = true;
      purged.push(...decodeFiles(steps.keys.parse(gone[index] ?? ''), reply));
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
