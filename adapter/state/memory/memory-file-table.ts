import { LRUCache } from 'lru-cache';

import { DueQueue } from './due-queue.ts';
import {
  type FileKey,
  type FileKind,
  type FilePage,
  type FileRecord,
  type FileTotals,
  heldBytes,
} from '../file-records.ts';
import type { FileTable, StoredFile } from '../tables/file-table.ts';
import type { SessionKey } from '../session-key.ts';
import { keyText } from '../stored-session.ts';

interface Row extends StoredFile {
  record: FileRecord;
  uses: number;
  /** It was deleted or took part in another queue from then on; queues find it later. */
  gone: boolean;
}

interface Files {
  readonly session: SessionKey;
  /** By kind and id. */
  readonly rows: Map<string, Row>;
  readonly totals: Totals;
}

type Totals = { -readonly [Kind in keyof FileTotals]: { count: number; pending: number; bytes: number } };

/** Who stopped in the middle of so many readers ago begins anew. */
const READERS = 8;

/** Records of files in maps. */
export class MemoryFileTable implements FileTable {
  readonly #sessions = new Map<string, Files>();
  /** Every server that ever had files: there are few, and they stay. */
  readonly #servers = new Set<string>();
  readonly #abandoned = new Map<string, SessionKey>();
  readonly #isAlive: (session: SessionKey) => boolean;
  #totals = newTotals();
  #queues = newQueues();
  /** By the cursor that leads on. */
  readonly #readers = new LRUCache<string, Generator<FileRecord, void>>({ max: READERS });
  #pages = 0;

  /** `isAlive`: whether a session is there and was not invalidated. */
  constructor(isAlive: (session: SessionKey) => boolean) {
    this.#isAlive = isAlive;
  }

  get(key: FileKey): Row | undefined {
    return this.#sessions.get(keyText(key))?.rows.get(rowKey(key));
  }

  put({ record, uses }: StoredFile): void {
    const files = this.#filesOf(record);
    const row = files.rows.get(rowKey(record));
    if (row !== undefined && isLater(record, row.record)) {
      this.#count(files, row.record, -1);
      row.record = record;
      row.uses = uses;
    } else {
      if (row !== undefined) this.#drop(files, row);
      const added = { record, uses, gone: false };
      files.rows.set(rowKey(record), added);
      this.#queues[queueOf(record)].add(added);
    }
    this.#count(files, record, 1);
  }

  delete(key: FileKey): void {
    const files = this.#sessions.get(keyText(key));
    const row = files?.rows.get(rowKey(key));
    if (files === undefined || row === undefined) return;
    this.#drop(files, row);
    if (files.rows.size > 0) return;
    this.#sessions.delete(keyText(key));
    this.#abandoned.delete(keyText(key));
  }

  ofSession(session: SessionKey): Row[] {
    return [...(this.#sessions.get(keyText(session))?.rows.values() ?? [])];
  }

  totals(session?: SessionKey): FileTotals {
    const totals = session === undefined ? this.#totals : this.#sessions.get(keyText(session))?.totals;
    const { uploads, artifacts } = totals ?? newTotals();
    return {
      uploads: { count: uploads.count, bytes: uploads.bytes },
      artifacts: { count: artifacts.count, bytes: artifacts.bytes },
    };
  }

  held(session: SessionKey, kind: FileKind): number {
    const totals = this.#sessions.get(keyText(session))?.totals[nameOf(kind)];
    return totals === undefined ? 0 : totals.count + totals.pending;
  }

  page(cursor: string | undefined, limit: number): FilePage {
    const reader = this.#readers.get(cursor ?? '') ?? this.#committed();
    this.#readers.delete(cursor ?? '');
    const files: FileRecord[] = [];
    while (files.length < limit) {
      const { value, done } = reader.next();
      if (done === true) return { files, next: undefined };
      files.push(value);
    }
    this.#pages += 1;
    const next = String(this.#pages);
    this.#readers.set(next, reader);
    return { files, next };
  }

  /** Iterators of maps go on where they were, whatever is added and deleted meanwhile. */
  *#committed(): Generator<FileRecord, void> {
    for (const { rows } of this.#sessions.values()) {
      for (const { record } of rows.values()) if (record.state === 'committed') yield record;
    }
  }

  unused(kind: FileKind, { usedBefore, now, limit }: { usedBefore: number; now: number; limit: number }): Row[] {
    return this.#queues[kind].due(usedBefore, limit, ({ record }) => record.leaseUntil <= now);
  }

  forsaken({ now, limit }: { now: number; limit: number }): Row[] {
    return this.#queues.pending.due(now, limit, () => true);
  }

  abandoned(limit: number): SessionKey[] {
    const sessions = [...this.#abandoned.values()];
    return sessions.filter((session) => !this.#isAlive(session)).slice(0, limit);
  }

  /** A session was removed or invalidated. */
  sessionEnded(session: SessionKey): void {
    const files = this.#sessions.get(keyText(session));
    if (files !== undefined) this.#abandoned.set(keyText(session), files.session);
  }

  known(sessionId: string, fileIds: readonly string[]): Set<string> {
    const sessions = [...this.#servers].map((serverId) => this.#sessions.get(keyText({ serverId, sessionId })));
    const has = (fileId: string): boolean =>
      sessions.some((files) => KINDS.some((kind) => files?.rows.has(rowKey({ kind, fileId }))));
    return new Set(fileIds.filter(has));
  }

  clear(): void {
    this.#sessions.clear();
    this.#abandoned.clear();
    this.#totals = newTotals();
    this.#queues = newQueues();
  }

  /** All files. */
  all(): StoredFile[] {
    return [...this.#sessions.values()].flatMap(({ rows }) => [...rows.values()]);
  }

  #filesOf(key: SessionKey): Files {
    const text = keyText(key);
    const known = this.#sessions.get(text);
    if (known !== undefined) return known;
    const session = { serverId: key.serverId, sessionId: key.sessionId };
    const files = { session, rows: new Map<string, Row>(), totals: newTotals() };
    this.#sessions.set(text, files);
    this.#servers.add(key.serverId);
    return files;
  }

  #drop(files: Files, row: Row): void {
    files.rows.delete(rowKey(row.record));
    row.gone = true;
    this.#queues[queueOf(row.record)].left();
    this.#count(files, row.record, -1);
  }

  #count(files: Files, record: FileRecord, sign: 1 | -1): void {
    const { kind, state } = record;
    const name = nameOf(kind);
    for (const totals of [files.totals, this.#totals]) {
      totals[name][state === 'pending' ? 'pending' : 'count'] += sign;
      totals[name].bytes += sign * heldBytes(record);
    }
  }
}

const KINDS: readonly FileKind[] = ['upload', 'artifact'];

const rowKey = ({ kind, fileId }: { kind: FileKind; fileId: string }): string => `${kind} ${fileId}`;

const nameOf = (kind: FileKind): keyof FileTotals => (kind === 'upload' ? 'uploads' : 'artifacts');

const newTotals = (): Totals => ({
  uploads: { count: 0, pending: 0, bytes: 0 },
  artifacts: { count: 0, pending: 0, bytes: 0 },
});

const queueOf = ({ state, kind }: FileRecord): FileKind | 'pending' => (state === 'pending' ? 'pending' : kind);

const newQueues = () => {
  const lastUse = (row: Row): number | undefined => (row.gone ? undefined : row.record.lastUsedAt);
  return {
    upload: new DueQueue(lastUse),
    artifact: new DueQueue(lastUse),
    pending: new DueQueue((row: Row) => (row.gone ? undefined : row.record.leaseUntil)),
  };
};

/** Whether a file may stay where it is in its queue. */
const isLater = (record: FileRecord, before: FileRecord): boolean =>
  record.state === before.state &&
  (record.state === 'pending' ? record.leaseUntil >= before.leaseUntil : record.lastUsedAt >= before.lastUsedAt);
