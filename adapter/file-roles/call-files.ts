import { randomUUID } from 'node:crypto';
import { posix } from 'node:path';
import { pathToFileURL } from 'node:url';

import { artifactUri } from '../artifacts/artifact-uri.ts';
import { AdapterError } from '../errors.ts';
import { safeFilename } from '../files/keys/paths.ts';
import { newSessionId } from '../sessions/session-registry.ts';
import { type FileRecord, MAX_SESSION_FILES } from '../state/file-records.ts';
import type { ToolCall } from '../tools/visible/tool-step.ts';
import { leaseUntil } from '../uploads/file-use.ts';
import { Edit, type LeftEdit } from './edit.ts';
import { FOLDER, type PathName } from './path-names.ts';
import type { RoleDeps } from './role-deps.ts';
import type { NotedFile, TaskJournal } from './task-journal.ts';
import type { RoleArgument } from './tool-roles.ts';
import { removed, untouched, type WorkCopy, workCopy } from './work-copy.ts';

/** The call that files belong to, as far as they need it. */
export type RoleCall = Pick<ToolCall, 'caller' | 'record' | 'tool' | 'timeoutMs' | 'signal'>;

/** The files of a call that goes on without its exchange. */
export interface LeftFiles {
  /** Nobody else knows it. */
  readonly owner: string;
  readonly given: readonly GivenFile[];
  readonly edits: readonly LeftEdit[];
  readonly wanted: readonly WantedFile[];
  readonly names: readonly PathName[];
}

/** Whether a tool still writes: no; nobody knows, and what it leaves is of no use to anybody; nobody knows. */
export type ToolEnd = 'ended' | 'cancelled' | 'unknown';

const HOW = { ended: 'drop', cancelled: 'empty', unknown: 'abandon' } as const;

/** A file that the tool reads. */
export interface GivenFile {
  readonly handle: string;
  readonly file: FileRecord;
  readonly copy: WorkCopy;
}

/** A file or folder that the tool was told to write. */
export interface WantedFile {
  readonly argument: RoleArgument;
  readonly pending: FileRecord;
}

/**
 * The files of one call: copies of those it reads, edits, and places for those it writes. Everything that has no artifact when
 * the call ends goes.
 */
export class CallFiles {
  readonly #deps: RoleDeps;
  readonly #call: RoleCall;
  /** Who this call is among all, wherever it goes on. */
  readonly owner: string;
  readonly given: GivenFile[] = [];
  readonly edits: Edit[] = [];
  readonly wanted: WantedFile[] = [];
  /** What names the files that the client knows, by their paths. */
  readonly names: PathName[] = [];
  /** What somebody else had begun to keep of this call's files, and the artifacts that have become of it. */
  readonly earlierNotes: { readonly note: NotedFile; readonly file: FileRecord | undefined }[] = [];
  #journal: TaskJournal | undefined;
  /** Whether copies to read wait for the next call: not those of a call that went on for long. */
  #keepsCopies = true;

  constructor(deps: RoleDeps, call: RoleCall, owner: string = randomUUID()) {
    this.#deps = deps;
    this.#call = call;
    this.owner = owner;
    this.names.push({ session: call.record.sessionId, handle: FOLDER });
  }

  static restored(deps: RoleDeps, call: RoleCall, left: LeftFiles): CallFiles {
    const files = new CallFiles(deps, call, left.owner);
    files.#keepsCopies = false;
    const { record, tool, timeoutMs, signal } = call;
    const editing = { serverId: record.serverId, sessionId: record.sessionId, tool, timeoutMs, signal };
    files.given.push(...left.given);
    files.wanted.push(...left.wanted);
    files.names.push(...left.names);
    files.edits.push(...left.edits.map((edit) => Edit.restored(deps, editing, edit)));
    return files;
  }

  /** What `restored` needs. */
  get left(): LeftFiles {
    const { owner, given, wanted, names, edits } = this;
    return { owner, given, wanted, names, edits: edits.map((edit) => edit.left) };
  }

  /** Goes on with what somebody else has begun to keep, and writes down what this call begins. */
  async goOn(journal: TaskJournal): Promise<void> {
    this.#journal = journal;
    const { records } = this.#deps;
    const { serverId, sessionId } = this.#call.record;
    for (const note of await journal.notes()) {
      const key = { serverId, sessionId, kind: 'artifact', fileId: note.fileId } as const;
      // oxlint-disable-next-line no-await-in-loop -- a call has few files
      this.earlierNotes.push({ note, file: await records.find(key, { now: records.now(), ttlMs: null }) });
    }
  }

  /** Whether somebody else may have begun to keep the files. */
  get goesOn(): boolean {
    return this.#journal !== undefined;
  }

  /** Must come before the record of a file whose id nobody else knows is committed. */
  async note(file: NotedFile): Promise<void> {
    await this.#journal?.note(file);
  }

  /** Whatever became of the call: places that no file is known by are called what the tool was told to call them. */
  get allNames(): readonly PathName[] {
    const places = this.wanted.map(({ pending }) => ({
      id: pending.fileId,
      rest: undefined,
      handle: pending.filename,
    }));
    return [...this.names, ...places];
  }

  /** The path of a copy of a file to read, as the tool wants it. */
  async give(file: FileRecord, handle: string, { as, max_bytes: maxBytes }: RoleArgument): Promise<string> {
    if (maxBytes !== null && file.sizeBytes > maxBytes) {
      throw new AdapterError(
        'file_too_large',
        `The file has ${file.sizeBytes} bytes; the tool takes at most ${maxBytes}.`,
      );
    }
    const { files, records, readCopies, urlTtlSeconds } = this.#deps;
    if (as === 'url') {
      const url = await files.url(file, { expiresInSeconds: urlTtlSeconds, as: 'inline' });
      if (url === undefined) throw new AdapterError('storage_unavailable');
      // Without its query it is no URL of ours any more, and still names the file.
      this.names.push({ text: url, handle }, { id: file.fileId, rest: undefined, handle });
      return url;
    }
    const { record, timeoutMs } = this.#call;
    const copy =
      (await readCopies.take(file, record.sessionId, leaseUntil(records.now(), timeoutMs))) ??
      (await this.#copied(file));
    this.given.push({ handle, file, copy });
    this.names.push({ id: copy.place.fileId, rest: undefined, handle });
    return written(copy.path, as);
  }

  async #copied(file: FileRecord): Promise<WorkCopy> {
    const { filename, mimeType, sizeBytes } = file;
    // Not an artifact, of which a session may have few.
    const place = await this.#begin(filename, { kind: 'upload', mimeType, bytes: sizeBytes });
    return workCopy(this.#deps.files, file, place, this.#call.signal).catch(async (error: unknown) => {
      await removed(this.#deps, place);
      throw error;
    });
  }

  /** The path at which the tool changes a file. */
  async edit(file: FileRecord, handle: string, { as, max_bytes: maxBytes }: RoleArgument): Promise<string> {
    const { record, tool, timeoutMs, signal } = this.#call;
    const { serverId, sessionId } = record;
    const edit = await Edit.begin(this.#deps, { serverId, sessionId, tool, timeoutMs, signal }, file, maxBytes);
    this.edits.push(edit);
    // An upload is one until the tool has changed it.
    const known = edit.file.kind === 'upload' ? handle : artifactUri(this.#deps.artifacts.uri_scheme, edit.file);
    const { place } = edit.copy;
    this.names.push({ id: place.fileId, rest: undefined, handle: known }, { session: place.sessionId, handle: FOLDER });
    return written(edit.copy.path, as);
  }

  /** The path that the tool writes a file or the files of a folder to. */
  async want(argument: RoleArgument, name: string | undefined): Promise<string> {
    const isFolder = argument.role === 'out_dir';
    const filename = safeFilename(name, isFolder ? 'output' : `artifact-${argument.keys.at(-1) ?? ''}`);
    const pending = await this.#begin(filename, {});
    this.wanted.push({ argument, pending });
    const { stage } = this.#deps.files;
    return written(await (isFolder ? stage.prepareFolder(pending) : stage.prepare(pending)), argument.as);
  }

  /** A pending file of this call. Fails with `artifact_limit` and the quotas' errors. */
  async #begin(
    filename: string,
    { bytes = 0, ...more }: Partial<Pick<FileRecord, 'kind' | 'mimeType'>> & { readonly bytes?: number },
  ): Promise<FileRecord> {
    const pending = { ...this.pending(filename), ...more };
    await beginPending(this.#deps, [pending], null);
    try {
      if (bytes > 0) await this.#deps.quotas.reserve(pending, bytes, pending.leaseUntil);
      return pending;
    } catch (error) {
      await removed(this.#deps, pending);
      throw error;
    }
  }

  /** The record of a file of this call, before it is begun. */
  pending(filename: string): FileRecord {
    const { record, tool, timeoutMs } = this.#call;
    const now = this.#deps.records.now();
    return {
      serverId: this.#deps.serverId,
      sessionId: record.sessionId,
      kind: 'artifact',
      fileId: newSessionId(),
      state: 'pending',
      filename,
      mimeType: 'application/octet-stream',
      sizeBytes: 0,
      sha256: null,
      toolName: tool,
      exposed: this.#deps.artifacts.expose_as_resources,
      createdAt: now,
      lastUsedAt: now,
      leaseUntil: leaseUntil(now, timeoutMs),
    };
  }

  /** Everything that is pending while the call runs. */
  get pendingFiles(): readonly FileRecord[] {
    return [
      ...this.given.map(({ copy }) => copy.place),
      ...this.edits.map(({ copy }) => copy.place),
      ...this.wanted.map(({ pending }) => pending),
    ];
  }

  /** Handles of files that the tool was given to read and has changed; everybody else has them as they were. */
  async changed(): Promise<string[]> {
    const { files } = this.#deps;
    const left = await Promise.all(this.given.map(({ copy }) => untouched(files, copy)));
    return this.given.filter((_, place) => left[place]?.file === false).map(({ handle }) => handle);
  }

  /**
   * The call is over. Never fails.
   * @param kept files that are artifacts now
   */
  async end(kept: ReadonlySet<string>, tool: ToolEnd): Promise<void> {
    const { readCopies } = this.#deps;
    const gone = this.wanted.map(({ pending }) => pending).filter(({ fileId }) => !kept.has(fileId));
    await Promise.all([
      ...gone.map((file) => removed(this.#deps, file)),
      ...this.given.map(({ file, copy }) =>
        tool === 'ended' && this.#keepsCopies ? readCopies.keep(file, copy) : removed(this.#deps, copy.place),
      ),
      ...this.edits.map((edit) => edit[HOW[tool]]()),
    ]);
  }
}

/** Begins pending files of one session. Fails with `artifact_limit`, `session_quota` and `session_ended`. */
export async function beginPending(
  { records }: Pick<RoleDeps, 'records'>,
  files: readonly FileRecord[],
  maxArtifacts: number | null,
): Promise<void> {
  const begun = await records.begin(files, { now: records.now(), maxArtifacts });
  if (begun === 'limit') throw new AdapterError('artifact_limit');
  if (begun === 'full') {
    throw new AdapterError(
      'session_quota',
      `The session has ${MAX_SESSION_FILES} files, which is the most that it may have.`,
    );
  }
  if (begun !== 'begun') throw new AdapterError('session_ended');
}

const written = (path: string, as: RoleArgument['as']): string =>
  as === 'file_uri' ? pathToFileURL(posix.normalize(path)).href : path;
