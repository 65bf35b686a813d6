import { createHash } from 'node:crypto';

import { MOST_TASK_MS } from '../artifacts/task-calls.ts';
import { AdapterError } from '../errors.ts';
import type { FileStore } from '../files/store/file-store.ts';
import { FileRefused } from '../files/keys/file-key.ts';
import { newSessionId } from '../sessions/session-registry.ts';
import type { FileRecord, FileRecords } from '../state/file-records.ts';
import type { StateStore } from '../state/state-store.ts';
import { leaseUntil } from '../uploads/file-use.ts';

type Files = Pick<FileStore, 'copy' | 'stage'>;

/** Calls in a row whose tool may still write to the path that it was given. Then the path is another one each time. */
const MAX_ABANDONED = 8;
/** How long a path is nobody else's whose tool may still write to it. Longer than any task. */
const PATH_MS = MOST_TASK_MS + 600_000;

/** What it takes to remove a file of a call. */
export interface Removal {
  readonly records: Pick<FileRecords, 'remove'>;
  readonly files: Pick<FileStore, 'stage'>;
  readonly warn: (message: string) => void;
}

interface WorkCopyDeps {
  readonly serverId: string;
  readonly records: Pick<FileRecords, 'begin' | 'now'>;
  readonly edits: Pick<StateStore, 'tryLock' | 'unlock'>;
}

/** A copy of a file that is a tool's own for one call. */
export interface WorkCopy {
  readonly place: FileRecord;
  /** For the upstream. */
  readonly path: string;
  /** Which bytes it was made of (see `FileVersion`), and in what state its folder was. */
  readonly versionId: string;
  readonly folderId: string;
}

/** Makes one. FileRefused: the file's bytes are not there, or are not those that its record names. */
export async function workCopy(
  files: Files,
  file: FileRecord,
  place: FileRecord,
  signal: AbortSignal,
): Promise<WorkCopy> {
  await files.copy(file, place, { atomic: false, signal });
  const { stage } = files;
  const made = await stage.stateOf(place);
  if (made === undefined) throw new FileRefused('missing', `the copy of ${file.kind} ${file.fileId} was removed`);
  return { place, path: stage.toolPathOf(stage.pathOf(place)), versionId: made.file, folderId: made.folder };
}

/** What is left of a copy: `file`: as it was made; `folder`: the same, and nothing beside it has come or gone. */
export async function untouched(
  { stage }: Pick<Files, 'stage'>,
  copy: WorkCopy,
): Promise<{ readonly file: boolean; readonly folder: boolean }> {
  const state = await stage.stateOf(copy.place);
  const file = state?.file === copy.versionId;
  return { file, folder: file && state.folder === copy.folderId };
}

/**
 * The pending record of a copy to change, in the session of the file where this server has that, so that the path stays the same.
 * Fails with `session_quota` and `session_ended`.
 * @param owner who has its path until `freePath`
 */
export async function beginCopy(
  deps: WorkCopyDeps,
  call: { readonly sessionId: string; readonly tool: string; readonly timeoutMs: number | null },
  file: FileRecord,
  owner: string,
): Promise<FileRecord> {
  const { records, serverId } = deps;
  const sessionId = file.serverId === serverId ? file.sessionId : call.sessionId;
  const fileId = await freeId(deps, file, owner);
  const now = records.now();
  const place: FileRecord = {
    serverId,
    sessionId,
    kind: 'artifact',
    fileId,
    state: 'pending',
    filename: file.filename,
    mimeType: file.mimeType,
    sizeBytes: 0,
    sha256: null,
    toolName: call.tool,
    exposed: false,
    createdAt: now,
    lastUsedAt: now,
    leaseUntil: leaseUntil(now, call.timeoutMs),
  };
  try {
    const result = await records.begin([place], { now, maxArtifacts: null });
    if (result === 'begun') return place;
    throw new AdapterError(result === 'full' ? 'session_quota' : 'session_ended');
  } catch (error) {
    await freePath(deps, place, owner);
    throw error;
  }
}

/**
 * The id of a copy that is the same each time, unless a tool may still write to the path of a call before: one that went on after
 * its time, or whose replica was killed. Leases of copies are over long before such a tool need be.
 */
async function freeId({ edits, serverId }: WorkCopyDeps, file: FileRecord, owner: string): Promise<string> {
  for (let attempt = 0; attempt < MAX_ABANDONED; attempt += 1) {
    const id = workId(file, attempt);
    // oxlint-disable-next-line no-await-in-loop -- the first one that is free
    if (await edits.tryLock(pathLock(serverId, id), owner, PATH_MS)) return id;
  }
  return newSessionId();
}

const pathLock = (serverId: string, fileId: string): string => `edit-path:${serverId}:${fileId}`;

/** The path of a copy may be that of the next call: its tool has ended. Never fails. */
export async function freePath(
  { edits, serverId }: Pick<WorkCopyDeps, 'edits' | 'serverId'>,
  { fileId }: FileRecord,
  owner: string,
): Promise<void> {
  await edits.unlock(pathLock(serverId, fileId), owner).catch(() => undefined);
}

function workId({ serverId, sessionId, fileId }: FileRecord, attempt: number): string {
  return createHash('sha256').update([serverId, sessionId, fileId, attempt].join('\n')).digest('hex').slice(0, 32);
}

/** Removes a pending file. Never fails: its lease ends. */
export async function removed({ records, files, warn }: Removal, file: FileRecord): Promise<void> {
  try {
    await records.remove(file);
    await files.stage.removeItem(file);
  } catch (error) {
    warn(`a file of a call could not be removed yet: ${(error as Error).message}`);
  }
}
