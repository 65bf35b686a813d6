import { AdapterError } from '../errors.ts';
import { mediaType } from '../files/keys/media-type.ts';
import { hashOf, startOf } from '../files/keys/opened-bytes.ts';
import { FileRefused, type OpenedFile } from '../files/keys/file-key.ts';
import { newSessionId } from '../sessions/session-registry.ts';
import { type FileRecord, lastVersions, type OlderVersion, versionOf, versionsOf } from '../state/file-records.ts';
import { leaseUntil } from '../uploads/file-use.ts';
import { heldLock, type HeldLock } from './held-lock.ts';
import type { RoleDeps } from './role-deps.ts';
import { beginCopy, freePath, removed, type WorkCopy, workCopy } from './work-copy.ts';

/** Whose the copy is that a tool works on. */
export interface EditingCall {
  readonly serverId: string;
  readonly sessionId: string;
  readonly tool: string;
  /** Milliseconds, null for none. */
  readonly timeoutMs: number | null;
  readonly signal: AbortSignal;
}

/** An edit whose call goes on without its exchange. */
export interface LeftEdit {
  readonly file: FileRecord;
  readonly copy: WorkCopy;
  readonly maxBytes: number | null;
  /** Where the next version will lie, by which it is known again. */
  readonly contentId: string;
}

/**
 * One call's change of one file. The tool works on a copy at a path that is the same for every edit of the file; what it leaves
 * there becomes the next version. Until then, and if nothing comes of it, everybody has the version before.
 *
 *     begin: lock ─ copy ──▶ the tool ──┬─ keep ─ moved into the file's folder ─ recorded as the next version
 *                                       ├─ drop       the copy goes
 *                                       ├─ abandon    the tool may still write: the copy stays until its lease ends
 *                                       └─ empty      the same, and the bytes go now
 */
export class Edit {
  readonly file: FileRecord;
  readonly copy: WorkCopy;
  readonly #deps: RoleDeps;
  readonly #call: EditingCall;
  readonly #lock: HeldLock | undefined;
  readonly #maxBytes: number | null;
  readonly #contentId: string;
  /** Of versions that the file has no more. Nobody waits for it but the end of the call. */
  #removing: Promise<void> | undefined;

  private constructor(
    deps: RoleDeps,
    call: EditingCall,
    made: { file: FileRecord; copy: WorkCopy; lock: HeldLock | undefined },
    maxBytes: number | null,
    contentId: string,
  ) {
    this.#deps = deps;
    this.#call = call;
    this.#lock = made.lock;
    this.#maxBytes = maxBytes;
    this.#contentId = contentId;
    this.file = made.file;
    this.copy = made.copy;
  }

  /**
   * Waits for whoever changes the file now, for as long as the call may take. Fails with `storage_busy`, with the quotas' errors,
   * and with FileRefused.
   */
  static async begin(deps: RoleDeps, call: EditingCall, named: FileRecord, maxBytes: number | null): Promise<Edit> {
    const waitMs = call.timeoutMs ?? LONGEST_WAIT_MS;
    const lock = await lockOf(deps, named, { waitMs, signal: call.signal });
    const contentId = newSessionId();
    let place: FileRecord | undefined;
    try {
      // What was read before the lock may be a version old, or an upload that is an artifact by now.
      const file = await current(deps, named);
      place = await beginCopy(deps, call, file, contentId);
      await deps.quotas.reserve(place, file.sizeBytes, place.leaseUntil);
      const copy = await workCopy(deps.files, file, place, call.signal);
      return new Edit(deps, call, { file, copy, lock }, maxBytes, contentId);
    } catch (error) {
      if (place !== undefined) {
        await removed(deps, place);
        await freePath(deps, place, contentId);
      }
      await lock.release();
      throw error;
    }
  }

  /**
   * The edit of a call that went on without its exchange. Nobody has held the lock since; where somebody else has changed the
   * file meanwhile, nothing is kept.
   */
  static restored(deps: RoleDeps, call: EditingCall, left: LeftEdit): Edit {
    const { file, copy, maxBytes, contentId } = left;
    return new Edit(deps, call, { file, copy, lock: undefined }, maxBytes, contentId);
  }

  /** What `restored` needs. */
  get left(): LeftEdit {
    return { file: this.file, copy: this.copy, maxBytes: this.#maxBytes, contentId: this.#contentId };
  }

  /**
   * Makes what the tool has left the next version. The record of the version that holds now: the one before where nothing was
   * changed; undefined for an upload that is still one. Fails with AdapterError and FileRefused; then the version before holds.
   */
  async keep(signal: AbortSignal): Promise<FileRecord | undefined> {
    const { files, quotas } = this.#deps;
    const { place } = this.copy;
    const kept = this.#lock === undefined ? await this.#keptBefore() : undefined;
    if (kept !== undefined) return kept;
    await using opened = await files.stage.open(place);
    const unchanged = this.file.kind === 'upload' ? undefined : this.file;
    if (opened.version.id === this.copy.versionId) return unchanged;
    if (this.#maxBytes !== null && opened.size > this.#maxBytes) {
      throw new AdapterError(
        'file_too_large',
        `The changed file has ${opened.size} bytes; at most ${this.#maxBytes} are kept.`,
      );
    }
    await quotas.reserve(place, opened.size, leaseUntil(this.#deps.records.now(), null));
    const [sha256] = await Promise.all([hashOf(opened, signal), files.stage.flush(opened)]);
    if (sha256 === this.file.sha256 && opened.size === this.file.sizeBytes) return unchanged;
    if (this.#lock !== undefined) return await this.#record(opened, sha256, signal);
    // Left by its exchange, and its lock with it.
    const lock = await lockOf(this.#deps, this.file, { waitMs: LONGEST_WAIT_MS, signal });
    try {
      const now = await current(this.#deps, this.file);
      const isSame = now.kind === this.file.kind && versionOf(now) === versionOf(this.file);
      if (!isSame) throw new AdapterError('storage_busy', CHANGED);
      return await this.#record(opened, sha256, signal);
    } finally {
      await lock.release();
    }
  }

  /** The tool has ended: its copy goes. Never fails. */
  async drop(): Promise<void> {
    const { place } = this.copy;
    await removed(this.#deps, place);
    await Promise.all([freePath(this.#deps, place, this.#contentId), this.#lock?.release()]);
    await this.#removing;
  }

  /**
   * Nobody wants what the tool may still write: nobody else gets its path for a day, but nothing lies there. Never fails.
   */
  async empty(): Promise<void> {
    const { place } = this.copy;
    const { files, quotas, warn } = this.#deps;
    try {
      await files.stage.removeItem(place);
      await quotas.reserve(place, 0, place.leaseUntil);
    } catch (error) {
      warn(`a copy of a cancelled call could not be removed yet: ${(error as Error).message}`);
    }
    await this.#lock?.release();
  }

  /** Nobody knows whether the tool has ended: its copy stays until the lease ends, and nobody else gets its path for a day. Never fails. */
  async abandon(): Promise<void> {
    await this.#lock?.release();
  }

  async #record(opened: OpenedFile, sha256: string, signal: AbortSignal): Promise<FileRecord> {
    const { files, records } = this.#deps;
    const before = this.file.kind === 'upload' ? await this.#adopted(signal) : this.file;
    const next = this.#next(before, {
      sizeBytes: opened.size,
      sha256,
      mimeType: mediaType(before.filename, await startOf(opened)),
    });
    let isAsked = false;
    let isRecorded: boolean | undefined;
    try {
      await files.stage.take(this.copy.place, next);
      await files.stage.keepOnly(next, opened);
      await files.secure(next, signal);
      signal.throwIfAborted();
      this.#lock?.signal.throwIfAborted();
      const now = records.now();
      isAsked = true;
      isRecorded =
        before === this.file
          ? await records.revise(next, { now, from: versionOf(before) })
          : await records.commit([{ ...next, lastUsedAt: now, leaseUntil: 0 }], { now });
      if (!isRecorded) throw new AdapterError(before === this.file ? 'storage_busy' : 'session_ended');
    } catch (error) {
      const isUnknown = isAsked && isRecorded === undefined;
      const there = await this.#keptBefore().catch((gone: unknown) =>
        gone instanceof FileRefused ? undefined : ('unknown' as const),
      );
      if (there !== undefined && there !== 'unknown') return there;
      // Without an answer of the store it may be recorded soon, whatever is there now. Then its bytes stay, and go with the file.
      if (before !== this.file) await this.#disown(before, next);
      else if (there === undefined && !isUnknown) await files.removeVersions([next]);
      throw error;
    }
    const kept = new Set(versionsOf(next).map(versionOf));
    this.#removing = files.removeVersions(versionsOf(before).filter((version) => !kept.has(versionOf(version))));
    return next;
  }

  /** The version that somebody else has made of this edit, and did not live to tell. */
  async #keptBefore(): Promise<FileRecord | undefined> {
    const versions = versionsOf(await current(this.#deps, this.file));
    return versions.find(({ contentId }) => contentId === this.#contentId);
  }

  /** Nothing has become of an upload, unless another call that had the lock after us has made an artifact of it. */
  async #disown(artifact: FileRecord, next: FileRecord): Promise<void> {
    const { records, files } = this.#deps;
    const there = await records.find(artifact, { now: records.now(), ttlMs: null }).catch(() => undefined);
    const isTheirs = there !== undefined && there.contentId !== next.contentId;
    await (isTheirs ? files.removeVersions([next]) : removed(this.#deps, artifact));
  }

  /** An upload becomes an artifact, with the same id and the uploaded bytes as its first version. */
  async #adopted(signal: AbortSignal): Promise<FileRecord> {
    const { records, quotas, artifacts, files } = this.#deps;
    const now = records.now();
    const { leaseUntil: _, ...upload } = this.file;
    const artifact: FileRecord = {
      ...upload,
      kind: 'artifact',
      state: 'pending',
      toolName: this.#call.tool,
      exposed: artifacts.expose_as_resources,
      createdAt: now,
      lastUsedAt: now,
      leaseUntil: leaseUntil(now, this.#call.timeoutMs),
    };
    const begun = await records.begin([{ ...artifact, sizeBytes: 0 }], {
      now,
      maxArtifacts: artifacts.max_per_session,
    });
    if (begun === 'limit') throw new AdapterError('artifact_limit');
    if (begun === 'full') throw new AdapterError('session_quota');
    if (begun === 'no_session') throw new AdapterError('session_ended');
    // Our lock was lost, and another call was faster.
    if (begun === 'taken') throw new AdapterError('storage_busy', CHANGED);
    try {
      await quotas.reserve(artifact, artifact.sizeBytes, artifact.leaseUntil);
      await files.copy(this.file, artifact, { atomic: true, signal });
      await files.secure(artifact, signal);
      return artifact;
    } catch (error) {
      await removed(this.#deps, artifact);
      throw error;
    }
  }

  #next(before: FileRecord, content: Pick<FileRecord, 'sizeBytes' | 'sha256' | 'mimeType'>): FileRecord {
    const { version: _, contentId, older = [], ...file } = before;
    const replaced: OlderVersion = {
      version: versionOf(before),
      contentId,
      sizeBytes: before.sizeBytes,
      sha256: before.sha256,
      ...(this.file.kind === 'upload' && { uploaded: true }),
    };
    return {
      ...file,
      version: replaced.version + 1,
      contentId: this.#contentId,
      older: lastVersions([...older, replaced], this.#deps.keptVersions),
      ...content,
    };
  }
}

const CHANGED = 'Another call has changed the same file meanwhile.';

/** How long a call without a time limit waits for others. */
const LONGEST_WAIT_MS = 60_000;

/** Waits for whoever changes a file now. Fails with `storage_busy`. */
async function lockOf(
  { edits }: RoleDeps,
  { serverId, sessionId, fileId }: FileRecord,
  options: Parameters<typeof heldLock>[2],
): Promise<HeldLock> {
  const lock = await heldLock(edits, `edit:${serverId}:${sessionId}:${fileId}`, options);
  if (lock === undefined) throw new AdapterError('storage_busy', 'Another call is changing the same file.');
  return lock;
}

async function current({ records }: RoleDeps, file: FileRecord): Promise<FileRecord> {
  const forEver = { now: records.now(), ttlMs: null };
  const artifact = await records.find({ ...file, kind: 'artifact' }, forEver);
  const there = artifact ?? (file.kind === 'upload' ? await records.find(file, forEver) : undefined);
  if (there === undefined) throw new FileRefused('missing', `${file.kind} ${file.fileId} was removed`);
  return there;
}
