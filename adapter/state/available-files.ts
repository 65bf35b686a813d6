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
} from './file-records.ts';
import type { SessionKey } from './session-key.ts';
import type { SessionMirror } from './session-mirror.ts';
import type { StateStore } from './state-store.ts';

/** The records of files of a store that may fail; the mirror, if there is one, follows what becomes of them. */
export class AvailableFiles implements FileRecords {
  readonly #run: <T>(operation: (files: FileRecords) => Promise<T>, waits?: boolean) => Promise<T>;
  readonly now: () => number;
  readonly #mirror: () => SessionMirror | undefined;

  /** `run` carries out an operation on whatever store is in charge; `mirror` is what goes on when that one fails. */
  constructor(
    run: <T>(operation: (store: StateStore) => Promise<T>, waits?: boolean) => Promise<T>,
    mirror: () => SessionMirror | undefined,
    now: () => number,
  ) {
    this.#run = (operation, waits) => run((store) => operation(store.files), waits);
    this.#mirror = mirror;
    this.now = now;
  }

  begin(files: readonly FileRecord[], options: { now: number; maxArtifacts: number | null }): Promise<Begun> {
    return this.#run((store) => store.begin(files, options));
  }

  async reserve(key: FileKey, request: ReserveRequest): Promise<Reserved> {
    const reserved = await this.#run((store) => store.reserve(key, request));
    if (reserved.state === 'reserved') this.#mirror()?.filesRemoved(reserved.evicted);
    return reserved;
  }

  async commit(files: readonly FileRecord[], options: { now: number; guard?: LockGuard }): Promise<boolean> {
    const committed = await this.#run((store) => store.commit(files, options));
    if (committed) this.#mirror()?.filesSeen(files.map((record) => ({ ...record, state: 'committed' })));
    return committed;
  }

  lease(keys: readonly FileKey[], leaseUntil: number): Promise<void> {
    return this.#run((store) => store.lease(keys, leaseUntil));
  }

  async release(keys: readonly FileKey[], now: number): Promise<void> {
    await this.#run((store) => store.release(keys, now));
    await this.#mirror()?.store.files.release(keys, now);
  }

  find(key: FileKey, options: { now: number; ttlMs: number | null }): Promise<FileRecord | undefined> {
    return this.#seen(this.#run((store) => store.find(key, options)));
  }

  use(
    key: FileKey,
    options: { now: number; ttlMs: number | null; leaseUntil?: number },
  ): Promise<FileRecord | undefined> {
    return this.#seen(this.#run((store) => store.use(key, options)));
  }

  async list(
    session: SessionKey,
    kind: FileKind,
    options: { now: number; ttlMs: number | null },
  ): Promise<FileRecord[]> {
    const files = await this.#run((store) => store.list(session, kind, options));
    this.#mirror()?.filesSeen(files);
    return files;
  }

  async remove(key: FileKey): Promise<FileRecord | undefined> {
    const removed = await this.#run((store) => store.remove(key));
    this.#mirror()?.filesRemoved([key]);
    return removed;
  }

  async purge(session: SessionKey): Promise<FileRecord[]> {
    const purged = await this.#run((store) => store.purge(session));
    await this.#mirror()?.store.files.purge(session);
    return purged;
  }

  expire(options: Parameters<FileRecords['expire']>[0]): Promise<FileRecord[]> {
    return this.#removed(this.#run((store) => store.expire(options)));
  }

  purgeAbandoned(options: { now: number; limit: number }): Promise<FileRecord[]> {
    return this.#removed(this.#run((store) => store.purgeAbandoned(options)));
  }

  known(sessionId: string, fileIds: readonly string[]): Promise<ReadonlySet<string>> {
    return this.#run((store) => store.known(sessionId, fileIds));
  }

  page(cursor: string | undefined, limit: number): Promise<FilePage> {
    return this.#run((store) => store.page(cursor, limit));
  }

  ownerOf(sessionId: string): Promise<string | undefined> {
    return this.#run((store) => store.ownerOf(sessionId));
  }

  adopt(files: readonly FileRecord[]): Promise<number> {
    return this.#run((store) => store.adopt(files));
  }

  totals(): Promise<FileTotals> {
    return this.#run((store) => store.totals(), false);
  }

  async #seen(finding: Promise<FileRecord | undefined>): Promise<FileRecord | undefined> {
    const file = await finding;
    if (file !== undefined) this.#mirror()?.filesSeen([file]);
    return file;
  }

  async #removed(removing: Promise<FileRecord[]>): Promise<FileRecord[]> {
    const removed = await removing;
    this.#mirror()?.filesRemoved(removed);
    return removed;
  }
}
