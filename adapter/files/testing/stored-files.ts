import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { sessionRecord } from '../../sessions/testing/session-record.ts';
import type { FileKind, FileRecord } from '../../state/file-records.ts';
import { MemoryStore } from '../../state/memory/memory-store.ts';
import type { SessionRecord, StateStore } from '../../state/state-store.ts';
import { noTelemetry, type Telemetry } from '../../telemetry/telemetry.ts';
import { DiskStagingArea } from '../disk/disk-staging-area.ts';
import { FileStore } from '../store/file-store.ts';

/** Real files in a temporary folder, with their records in a store. */
export interface StoredFiles extends AsyncDisposable {
  readonly root: string;
  readonly store: StateStore;
  readonly stage: DiskStagingArea;
  readonly bytes: FileStore;
  /** What telemetry was told of removed files, as `kind reason count`. */
  readonly told: string[];
  readonly telemetry: Telemetry;
  session(changes?: Partial<SessionRecord>): Promise<SessionRecord>;
  /** A committed file with its record. */
  file(session: SessionRecord, kind: FileKind, changes?: Partial<FileRecord>): Promise<FileRecord>;
  /** A file without a record. */
  orphan(kind: FileKind, changes?: Partial<FileRecord>): Promise<FileRecord>;
  pathOf(file: FileRecord): string;
  /** Makes a file and its folder look as old as that, in milliseconds since the epoch. */
  age(file: FileRecord, at: number): Promise<void>;
}

export const newId = (): string => randomBytes(16).toString('hex');

export async function storedFiles(store: StateStore = new MemoryStore()): Promise<StoredFiles> {
  const root = await mkdtemp(join(tmpdir(), 'files-'));
  const stage = await DiskStagingArea.open({
    root,
    access: 'group',
    atomicWrites: true,
    locatorRoots: [],
    forbidden: [],
  });
  const told: string[] = [];
  const telemetry: Telemetry = {
    ...noTelemetry,
    filesRemoved: ({ kind, reason, files }) => void told.push(`${kind} ${reason} ${files}`),
  };
  const bytes = new FileStore({
    stage,
    records: store.files,
    telemetry,
    onError: (_message, error) => void told.push(String(error)),
  });

  async function write(file: FileRecord): Promise<FileRecord> {
    const writer = await stage.create(file);
    await writer.write(Buffer.from('x'.repeat(file.sizeBytes)));
    await writer.finish();
    return file;
  }

  return {
    root,
    store,
    stage,
    bytes,
    told,
    telemetry,
    async session(changes) {
      const now = Date.now();
      const record = sessionRecord({ sessionId: newId(), createdAt: now, lastActiveAt: now, ...changes });
      await store.open(record);
      return record;
    },
    async file({ serverId, sessionId }, kind, changes) {
      const file = await write(fileRecord({ serverId, sessionId, kind, ...changes }));
      await store.files.begin([{ ...file, leaseUntil: Date.now() + 60_000 }], { now: Date.now(), maxArtifacts: null });
      if (!(await store.files.commit([file], { now: Date.now() }))) throw new Error('not committed');
      return file;
    },
    orphan: (kind, changes) => write(fileRecord({ kind, ...changes })),
    pathOf: (file) => stage.pathOf(file),
    async age(file, at) {
      const path = stage.pathOf(file);
      for (const one of [path, dirname(path)]) await utimes(one, at / 1000, at / 1000);
    },
    [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }),
  };
}

export function fileRecord(changes: Partial<FileRecord> = {}): FileRecord {
  const now = Date.now();
  return {
    serverId: 's1',
    sessionId: newId(),
    kind: 'upload',
    fileId: newId(),
    state: 'committed',
    filename: 'file.txt',
    mimeType: 'text/plain',
    sizeBytes: 5,
    sha256: null,
    toolName: null,
    exposed: true,
    createdAt: now,
    lastUsedAt: now,
    leaseUntil: 0,
    ...changes,
  };
}
