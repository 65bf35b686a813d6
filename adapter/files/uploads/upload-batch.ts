import { createHash, type Hash } from 'node:crypto';

import mime from 'mime';

import { AdapterError } from '../../errors.ts';
import { releaseBytes } from '../../exchange/answers/release-bytes.ts';
import { newSessionId } from '../../sessions/session-registry.ts';
import { type FileRecord, type FileRecords, MAX_SESSION_FILES } from '../../state/file-records.ts';
import type { SessionKey } from '../../state/state-store.ts';
import type { FileStore } from '../store/file-store.ts';
import type { Locks } from '../locks/locks.ts';
import { safeFilename } from '../keys/paths.ts';
import { type FileWriter, isFull } from '../keys/file-key.ts';
import type { Quotas } from '../store/quotas.ts';
import type { FormFile } from './upload-form.ts';

/** What receiving files works with; one of each per program. */
export interface UploadDeps {
  readonly records: FileRecords;
  readonly files: FileStore;
  readonly quotas: Quotas;
  readonly locks: Locks;
  readonly maxFileBytes: number;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

/** How long a file that is being written is kept when nobody says that its writer is alive. */
const LEASE_MS = 60_000;
/** How many bytes are reserved, and written, at once: few as long as files are small, then more. */
const SMALL_STEP_BYTES = 64 * 1024;
const LARGE_STEP_BYTES = 512 * 1024;
const FULL = `The session has ${MAX_SESSION_FILES} files, which is the most that a session may have.`;
const MEDIA_TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/;

interface Item {
  record: FileRecord;
  readonly writer: FileWriter;
  readonly hash: Hash;
  /** All bytes that came, and those of them that are reserved and written, or about to be. */
  size: number;
  written: number;
}

/**
 * The files of one request, which are kept all together or not at all:
 *
 *     begin ─ (reserve ─ write)* ─ finish   for each, then   object storage ─ lock ─ commit   for all
 *
 * Until `commit` nobody else sees any of them. After a failure anywhere, `discard` leaves nothing behind.
 */
export class UploadBatch {
  readonly #deps: UploadDeps;
  readonly #session: SessionKey;
  readonly #toolName: string | null;
  readonly #items: Item[] = [];
  /**
   * What came and is not written yet. Copied, so that the many buffers of a connection live too short to pile up in
   * memory; files come one after the other and share it.
   */
  #buffer = Buffer.allocUnsafeSlow(SMALL_STEP_BYTES);
  #filled = 0;
  /** Is filled next, while the other is being written. */
  #spare: Buffer<ArrayBuffer> | undefined;
  /** The last step that was begun; fails as it does. */
  #writing: Promise<void> = Promise.resolve();
  /** What is in the buffer shall be written with the next bytes, though it is not full. */
  #isFlushDue = false;

  constructor(deps: UploadDeps, session: SessionKey, toolName: string | null) {
    this.#deps = deps;
    this.#session = session;
    this.#toolName = toolName;
  }

  /** Takes in one file as it comes. Fails with `file_too_large`, with quota errors, and when the session has ended. */
  async add(file: FormFile): Promise<void> {
    // A browser sends a file without name and content where none was chosen.
    let item = file.filename === '' ? undefined : await this.#begin(file);
    try {
      for await (const chunk of file.content) {
        item ??= await this.#begin(file);
        item.size += chunk.length;
        if (item.size > this.#deps.maxFileBytes) throw tooLarge(item.record.filename, this.#deps.maxFileBytes);
        await this.#take(item, chunk);
      }
      if (item === undefined) return;
      await this.#writing;
      if (this.#filled > 0) await this.#write(item, this.#buffer.subarray(0, this.#filled));
      this.#filled = 0;
    } finally {
      // Whatever happened: nobody may give the file up while it is being written.
      await this.#writing.catch(() => undefined);
    }
    await item.writer.finish();
    const sha256 = item.hash.digest('hex');
    item.record = { ...item.record, sizeBytes: item.size, sha256 };
  }

  /** The files so far, in their order. */
  get records(): readonly FileRecord[] {
    return this.#items.map((item) => item.record);
  }

  /** Copies all to object storage, where there is one. */
  async secure(signal: AbortSignal): Promise<void> {
    for (const { record } of this.#items) await this.#deps.files.secure(record, signal);
  }

  /** No more files come. */
  close(): void {
    releaseBytes(this.#buffer);
    if (this.#spare !== undefined) releaseBytes(this.#spare);
  }

  /** Makes all of them files of the session. Fails with `session_ended` when there is no such session any more. */
  async commit(): Promise<readonly FileRecord[]> {
    const { records, locks, clock } = this.#deps;
    const { sessionId } = this.#session;
    const [first] = this.#items;
    const name =
      this.#items.length === 1 && first !== undefined
        ? `upload/${sessionId}/${first.record.fileId}`
        : `session/${sessionId}`;
    return locks.hold(name, async (held) => {
      const now = clock();
      const final = this.records.map((record): FileRecord => ({
        ...record,
        state: 'committed',
        createdAt: now,
        lastUsedAt: now,
        leaseUntil: 0,
      }));
      if (await records.commit(final, { now, guard: held.guard })) return final;
      throw new AdapterError(held.signal.aborted ? 'storage_busy' : 'session_ended');
    });
  }

  /**
   * Says that their writer is alive: in the store, and by the age of the file that is being written, which a client
   * too slow to fill the buffer would not change for a long time, so that the sweeper takes it for left behind.
   */
  async keepAlive(): Promise<void> {
    this.#isFlushDue = true;
    const keys = this.records;
    if (keys.length > 0) await this.#deps.records.lease(keys, this.#deps.clock() + LEASE_MS);
  }

  /** Removes all traces and returns what to tell the client instead of `reason`. Never fails. */
  async discard(reason: unknown): Promise<unknown> {
    const { records, files } = this.#deps;
    // Records first: what then is left on the disk after a crash is known to be nobody's.
    const removed = await Promise.allSettled(this.records.map((record) => records.remove(record)));
    await Promise.allSettled(this.#items.map((item) => item.writer.abort()));
    // Where the store does not answer, the files may have been committed a moment ago: then they must be whole.
    const ours = this.records.filter((_, i) => removed[i]?.status === 'fulfilled');
    await files.discard(ours, 'failed');
    if (reason instanceof AdapterError) return reason;
    if (isFull(reason)) {
      return new AdapterError('storage_quota', 'There is no space left on the disk.', { cause: reason });
    }
    // Whoever ends a session removes its folders, also from under those who write into them.
    const taken = removed.some((one) => one.status === 'fulfilled' && one.value === undefined);
    return taken ? new AdapterError('session_ended', undefined, { cause: reason }) : reason;
  }

  async #begin(file: Pick<FormFile, 'filename' | 'mimeType'>): Promise<Item> {
    const { records, files, clock } = this.#deps;
    const now = clock();
    const filename = safeFilename(file.filename, 'upload');
    const record: FileRecord = {
      ...this.#session,
      kind: 'upload',
      fileId: newSessionId(),
      state: 'pending',
      filename,
      mimeType: mediaType(file.mimeType, filename),
      sizeBytes: 0,
      sha256: null,
      toolName: this.#toolName,
      exposed: false,
      createdAt: now,
      lastUsedAt: now,
      leaseUntil: now + LEASE_MS,
    };
    const begun = await records.begin([record], { now, maxArtifacts: null });
    if (begun === 'full') throw new AdapterError('session_quota', FULL);
    if (begun !== 'begun') throw new AdapterError('session_ended');
    const writer = await files.create(record).catch(async (error: unknown) => {
      await records.remove(record).catch(() => undefined);
      await files.discard([record], 'failed');
      throw error;
    });
    const item: Item = { record, writer, hash: createHash('sha256'), size: 0, written: 0 };
    this.#items.push(item);
    return item;
  }

  async #take(item: Item, chunk: Buffer): Promise<void> {
    for (let taken = 0; taken < chunk.length;) {
      const copied = chunk.copy(this.#buffer, this.#filled, taken);
      taken += copied;
      this.#filled += copied;
      if (this.#isFlushDue) {
        await this.#flush(item);
        await this.#writing;
        this.#isFlushDue = false;
      } else if (this.#filled === this.#buffer.length) await this.#flush(item);
    }
  }

  /** Begins to write what is in the buffer; resolves when there is another one to be filled meanwhile. */
  async #flush(item: Item): Promise<void> {
    await this.#writing;
    const buffer = this.#buffer;
    const bytes = buffer.subarray(0, this.#filled);
    this.#buffer = this.#spare ?? Buffer.allocUnsafeSlow(LARGE_STEP_BYTES);
    this.#filled = 0;
    this.#spare = undefined;
    this.#writing = this.#write(item, bytes).finally(() => {
      if (buffer.length < this.#buffer.length) releaseBytes(buffer);
      else this.#spare = buffer;
    });
    this.#writing.catch(() => undefined);
  }

  /** Space first, then the bytes: what lies on the disk never exceeds a quota. */
  async #write(item: Item, bytes: Buffer): Promise<void> {
    const { quotas, clock } = this.#deps;
    await quotas.reserve(item.record, item.written + bytes.length, clock() + LEASE_MS);
    item.written += bytes.length;
    const written = item.writer.write(bytes);
    // The disk is busy elsewhere meanwhile.
    item.hash.update(bytes);
    await written;
  }
}

/** The parser says text/plain also where the client said nothing; then the name knows better. */
function mediaType(sent: string, filename: string): string {
  const guess = filename.includes('.') ? mime.getType(filename) : null;
  if (sent === 'text/plain') return guess ?? sent;
  return MEDIA_TYPE.test(sent) ? sent : (guess ?? 'application/octet-stream');
}

function tooLarge(filename: string, limit: number): AdapterError {
  return new AdapterError('file_too_large', `The file ${filename} is larger than ${limit} bytes, which is the limit.`);
}
