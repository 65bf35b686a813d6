import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { pathToFileURL } from 'node:url';

import { artifactUri } from '../artifacts/artifact-uri.ts';
import { keepArtifact } from '../artifacts/keep-artifact.ts';
import type { ToolResult } from '../artifacts/locate-output.ts';
import { MOST_TASK_MS } from '../artifacts/task-calls.ts';
import { AdapterError } from '../errors.ts';
import { FileRefused, type OpenedFile } from '../files/keys/file-key.ts';
import { wasWrittenSince } from '../files/keys/written-since.ts';
import { safeFilename } from '../files/keys/paths.ts';
import type { FileRecord } from '../state/file-records.ts';
import { leaseUntil } from '../uploads/file-use.ts';
import { beginPending, type CallFiles } from './call-files.ts';
import { knownProblem } from './known-problem.ts';
import type { KeptFiles, Problem } from './kept-files.ts';
import type { PathName } from './path-names.ts';
import type { RoleDeps } from './role-deps.ts';
import type { FoundRule } from './tool-roles.ts';
import { removed } from './work-copy.ts';

/** How long one file is nobody else's. Longer than any call, or task, looks for files that were written in its time. */
const TAKEN_MS = MOST_TASK_MS + 600_000;

/** Why a file that a tool has named was not taken; `seen`: as the tool wrote it. */
export interface NotTaken {
  readonly seen: string;
  readonly folder: string;
  readonly reason: FileRefused['reason'] | 'older' | 'taken';
}

/**
 * Makes artifacts of files that the tool names itself: plain files below the folder of the rule, written during this call, that no
 * other call has taken.
 */
export async function foundFiles(
  deps: RoleDeps,
  call: CallFiles,
  options: {
    readonly rules: readonly FoundRule[];
    readonly result: ToolResult;
    /** By the clock of this machine, in milliseconds. */
    readonly startedAt: number;
    readonly signal: AbortSignal;
    readonly onNotTaken: (file: NotTaken) => void;
  },
): Promise<KeptFiles> {
  const files: FileRecord[] = [];
  const names: PathName[] = [];
  const problems: Problem[] = [];
  const seen = new Set<string>();
  const own = new Set<string>();
  const add = (name: string, path: string, file: FileRecord): void => {
    seen.add(name);
    const handle = artifactUri(deps.artifacts.uri_scheme, file);
    names.push({ text: pathToFileURL(path).href, handle }, { text: path, handle }, { text: name, handle });
    files.push(file);
  };
  for (const { file, note } of call.earlierNotes) {
    if (file !== undefined && note.found !== undefined) add(note.found.name, note.found.path, file);
  }
  for (const rule of options.rules) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    for (const name of await rule.names(options.result)) {
      // What a rule before has taken has its handle; what is one already needs none.
      if (seen.has(name) || name.includes('://')) continue;
      // oxlint-disable-next-line no-await-in-loop -- as many as the limits of the folder allow, in their order
      const taken = await take(deps, call, rule, { ...options, name, own }).catch((error: unknown) => {
        // Nobody is left to be told.
        if (options.signal.aborted) throw error;
        return knownProblem(deps, error);
      });
      if (taken instanceof AdapterError) {
        deps.telemetry.artifactFailed({ serverId: deps.serverId, reason: taken.code });
        problems.push({ code: taken.code, detail: `${quoted(name)}: ${taken.message}` });
        continue;
      }
      if ('reason' in taken) {
        options.onNotTaken({ seen: name, folder: rule.folder, reason: taken.reason });
        const detail = `${quoted(name)} was not taken: ${WHY[taken.reason] ?? taken.reason}.`;
        problems.push({ code: 'artifact_not_captured', detail });
        continue;
      }
      add(name, taken.path, taken.file);
    }
  }
  return { files, names, problems };
}

const quoted = (name: string): string => `The file ${JSON.stringify(name.slice(0, 200))} that the tool names`;

type Taken = { readonly file: FileRecord; readonly path: string } | { readonly reason: NotTaken['reason'] };

async function take(
  deps: RoleDeps,
  call: CallFiles,
  { folder, isMoved }: FoundRule,
  options: {
    readonly name: string;
    /** Locks of files that this very call has taken. */
    readonly own: Set<string>;
    readonly startedAt: number;
    readonly signal: AbortSignal;
  },
): Promise<Taken> {
  const { files, artifacts, records } = deps;
  const { name, own, startedAt, signal } = options;
  let opened: OpenedFile;
  try {
    opened = await files.stage.openFound(name, folder);
  } catch (error) {
    if (error instanceof FileRefused) return { reason: error.reason };
    throw error;
  }
  await using file = opened;
  if (!wasWrittenSince(file, startedAt)) return { reason: 'older' };
  const pending = call.pending(safeFilename(basename(file.path), 'artifact'));
  const lock = `found:${createHash('sha256').update(`${file.path}\n${file.version.id}`).digest('hex')}`;
  // A task goes on with what it has locked before.
  if (own.has(lock) || !(await deps.edits.tryLock(lock, call.owner, TAKEN_MS))) return { reason: 'taken' };
  own.add(lock);
  try {
    await beginPending(deps, [pending], artifacts.max_per_session);
    await call.note({ fileId: pending.fileId, found: { name, path: file.path } });
    const kept = await keepArtifact(
      deps,
      pending,
      { kind: 'elsewhere', file },
      {
        wasGiven: false,
        hashed: true,
        now: () => records.now(),
        leaseUntil: () => leaseUntil(records.now(), null),
        signal,
      },
    );
    if (isMoved)
      await files.stage
        .removeFound(file)
        .catch((error: unknown) =>
          deps.warn(`a file that became an artifact is still there: ${(error as Error).message}`),
        );
    return { file: kept, path: file.path };
  } catch (error) {
    await removed(deps, pending);
    // It may be named again.
    own.delete(lock);
    await deps.edits.unlock(lock, call.owner).catch(() => undefined);
    if (error instanceof FileRefused) return { reason: error.reason };
    throw error;
  }
}

const WHY: Readonly<Partial<Record<NotTaken['reason'], string>>> = {
  missing: 'it is not there',
  outside: 'it is not below the folder that the adapter may take files from',
  not_a_file: 'it is no regular file',
  linked: 'it is a link, or has another name too',
  changed: 'it was changed while it was read',
  unreadable: 'it cannot be read',
  older: 'it is older than this call',
  taken: 'another call has taken it',
};
