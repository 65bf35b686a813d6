import type { RedisReply } from '../../../lib/redis/redis-script.ts';
import { type FileKey, type FileKind, type FileRecord, type FileTotals, heldBytes } from '../file-records.ts';
import type { SessionKey } from '../session-key.ts';

/*
 * A file in Redis is a field of its session's hash: `u` or `a` for the kind, then the id. Its value is what scripts
 * look at, state, size, last use, end of the lease, uses and creation, with spaces between, and on the next line, as
 * JSON, what they only pass on.
 */

const LETTERS = { upload: 'u', artifact: 'a' } as const;

export const kindLetter = (kind: FileKind): string => LETTERS[kind];

export const fileField = ({ kind, fileId }: Pick<FileKey, 'kind' | 'fileId'>): string => `${LETTERS[kind]}${fileId}`;

/** Field and value. */
export function encodeFile(record: FileRecord, uses: number): [string, string] {
  const { filename, mimeType, sha256, toolName, exposed, spilled, version, contentId, older } = record;
  const numbers = [heldBytes(record), record.lastUsedAt, record.leaseUntil, uses, record.createdAt];
  const rest = JSON.stringify({
    filename,
    mimeType,
    sha256,
    toolName,
    exposed,
    spilled,
    ...(version !== undefined && { version, contentId, older, sizeBytes: record.sizeBytes }),
  });
  return [fileField(record), `${record.state} ${numbers.join(' ')}\n${rest}`];
}

/** What a script returned for one file; undefined when there is none. */
export function decodeFile(session: SessionKey, field: string, value: RedisReply): FileRecord | undefined {
  if (typeof value !== 'string') return undefined;
  const line = value.indexOf('\n');
  const [state, held, lastUsedAt, leaseUntil, , createdAt] = value.slice(0, line).split(' ');
  const rest: unknown = JSON.parse(value.slice(line + 1));
  const { filename, mimeType, sha256, toolName, exposed, spilled, version, contentId, older, sizeBytes } =
    rest as Partial<FileRecord> & Omit<FileRecord, 'sizeBytes'>;
  return {
    serverId: session.serverId,
    sessionId: session.sessionId,
    kind: field.startsWith('u') ? 'upload' : 'artifact',
    fileId: field.slice(1),
    state: state === 'pending' ? 'pending' : 'committed',
    filename,
    mimeType,
    sizeBytes: sizeBytes ?? Number(held),
    sha256,
    toolName,
    exposed,
    ...(spilled === true && { spilled }),
    ...(version !== undefined && { version, contentId, older }),
    createdAt: Number(createdAt),
    lastUsedAt: Number(lastUsedAt),
    leaseUntil: Number(leaseUntil),
  };
}

/** Files that a script returned as field, value, field, value…; the fields of totals are passed over. */
export function decodeFiles(session: SessionKey, reply: RedisReply): FileRecord[] {
  if (!Array.isArray(reply)) return [];
  const files: FileRecord[] = [];
  for (let index = 0; index + 1 < reply.length; index += 2) {
    const field = String(reply[index]);
    const file = field.startsWith('#') ? undefined : decodeFile(session, field, reply[index + 1] ?? null);
    if (file !== undefined) files.push(file);
  }
  return files;
}

/** The fields of totals, in the order in which `decodeTotals` wants their values. */
export const TOTALS_FIELDS = ['uc', 'ub', 'ac', 'ab'] as const;

export function decodeTotals(values: readonly (string | null)[]): FileTotals {
  const [uploads, uploadBytes, artifacts, artifactBytes] = values.map(Number);
  return {
    uploads: { count: uploads ?? 0, bytes: uploadBytes ?? 0 },
    artifacts: { count: artifacts ?? 0, bytes: artifactBytes ?? 0 },
  };
}
