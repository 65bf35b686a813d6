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
} from '../file-records.ts';
import * as rules from './file-rules.ts';
import type { FileTables } from './file-rules.ts';
import type { SessionKey } from '../session-key.ts';
import { ownerOf } from './session-rules.ts';

/** How a store that lives in this process carries out steps on its tables. */
interface TableSteps {
  /** Runs `work` as one atomic step; resolves once it is done for good. */
  step<T>(work: (tables: FileTables) => T): Promise<T>;
  /** The same for `work` that only reads. */
  read<T>(work: (tables: FileTables) => T): Promise<T>;
}

/** The records of files of a store that lives in this process. */
export class TableFiles implements FileRecords {
  readonly #steps: TableSteps;

  constructor(steps: TableSteps) {
    this.#steps = steps;
  }

  now(): number {
    return Date.now();
  }

  begin(files: readonly FileRecord[], options: { now: number; maxArtifacts: number | null }): Promise<Begun> {
    return this.#steps.step((tables) => rules.begin(tables, files, options));
  }

  reserve(key: FileKey, request: ReserveRequest): Promise<Reserved> {
    return this.#steps.step((tables) => rules.reserve(tables, key, request));
  }

  commit(files: readonly FileRecord[], options: { now: number; guard?: LockGuard }): Promise<boolean> {
    return this.#steps.step((tables) => rules.commit(tables, files, { ...options, clock: Date.now() }));
  }

  revise(file: FileRecord, options: { now: number; from: number }): Promise<boolean> {
    return this.#steps.step((tables) => rules.revise(tables, file, options));
  }

  lease(keys: readonly FileKey[], leaseUntil: number): Promise<void> {
    return this.#steps.step((tables) => rules.lease(tables, keys, leaseUntil));
  }

  release(keys: readonly FileKey[], now: number): Promise<void> {
    return this.#steps.step((tables) => rules.release(tables, keys, now));
  }

  find(key: FileKey, options: { now: number; ttlMs: number | null }): Promise<FileRecord | undefined> {
    return this.#steps.read((tables) => rules.find(tables, key, options));
  }

  use(
    key: FileKey,
    options: { now: number; ttlMs: number | null; leaseUntil?: number },
  ): Promise<FileRecord | undefined> {
    return this.#steps.step((tables) => rules.use(tables, key, options));
  }

  list(session: SessionKey, kind: FileKind, options: { now: number; ttlMs: number | null }): Promise<FileRecord[]> {
    return this.#steps.read((tables) => rules.list(tables, session, kind, options));
  }

  remove(key: FileKey): Promise<FileRecord | undefined> {
    return this.#steps.step((tables) => rules.remove(tables, key));
  }

  purge(session: SessionKey): Promise<FileRecord[]> {
    return this.#steps.step((tables) => rules.purge(tables, session));
  }

  expire(options: Parameters<FileRecords['expire']>[0]): Promise<FileRecord[]> {
    return this.#steps.step((tables) => rules.expire(tables, options));
  }

  purgeAbandoned(options: { now: number; limit: number }): Promise<FileRecord[]> {
    return this.#steps.step((tables) => rules.purgeAbandoned(tables, options));
  }

  known(sessionId: string, fileIds: readonly string[]): Promise<ReadonlySet<string>> {
    return this.#steps.read(({ files }) => files.known(sessionId, fileIds));
  }

  page(cursor: string | undefined, limit: number): Promise<FilePage> {
    return this.#steps.read(({ files }) => files.page(cursor, limit));
  }

  ownerOf(sessionId: string): Promise<string | undefined> {
    return this.#steps.read(({ sessions }) => ownerOf(sessions, sessionId));
  }

  adopt(files: readonly FileRecord[]): Promise<number> {
    return this.#steps.step((tables) => rules.adopt(tables, files));
  }

  totals(): Promise<FileTotals> {
    return this.#steps.read(({ files }) => files.totals());
  }
}
