import type { FileKind, FileRecords } from '../../state/file-records.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import type { FileKey } from '../keys/file-key.ts';
import type { BlobStore } from '../s3/blob-store.ts';
import { namedPlaces, placeOf } from './named-places.ts';
import { type SweepOptions, TEMPORARY_MS } from './sweep-orphans.ts';
import { unknownItems } from './unknown-items.ts';

export interface BlobSweepDeps {
  readonly records: Pick<FileRecords, 'known' | 'find' | 'ownerOf' | 'now'>;
  readonly blobStore: Pick<BlobStore, 'items' | 'remove'>;
  readonly telemetry: Pick<Telemetry, 'filesRemoved'>;
  /** As in `sweepOrphans`. */
  readonly usable: () => boolean;
}

const BATCH = 200;

type Listed = FileKey & { readonly kind: FileKind; readonly modifiedAt: number };

/** As `sweepOrphans`, for copies in object storage. Returns how many were removed. */
export async function sweepBlobStore(deps: BlobSweepDeps, options: SweepOptions): Promise<number> {
  const { records, blobStore, telemetry, usable } = deps;
  const { graceMs, now, signal } = options;
  const isOver = (): boolean => signal.aborted || !usable();
  let removed = 0;
  let batch: Listed[] = [];

  async function removeUnknown(): Promise<void> {
    if (batch.length === 0 || isOver()) return;
    const unknown = await unknownItems(records, batch);
    const orphans = [...unknown, ...(await leftVersions(batch.filter((item) => !unknown.includes(item))))];
    if (isOver()) return;
    if (orphans.length === 0) return;
    await blobStore.remove(orphans, signal);
    removed += orphans.length;
    for (const kind of ['upload', 'artifact'] as const) {
      const files = orphans.filter((orphan) => orphan.kind === kind).length;
      if (files > 0) telemetry.filesRemoved({ kind, reason: 'orphan', files });
    }
  }

  /** Versions of edited files that no record names; those whose record may still come are young. */
  async function leftVersions(known: readonly Listed[]): Promise<Listed[]> {
    const ofFiles = Map.groupBy(known, ({ sessionId, fileId }) => `${sessionId}/${fileId}`);
    const edited = [...ofFiles.values()].filter((items) => items.some(({ contentId }) => contentId !== undefined));
    const old = edited.flat().filter(({ modifiedAt }) => modifiedAt + TEMPORARY_MS <= now);
    const places = await namedPlaces(records, old);
    return old.filter((item) => places.get(item)?.has(placeOf(item)) === false);
  }

  for await (const item of blobStore.items(signal)) {
    if (item.modifiedAt + graceMs > now) continue;
    batch.push(item);
    if (batch.length < BATCH) continue;
    await removeUnknown();
    batch = [];
    if (isOver()) return removed;
  }
  await removeUnknown();
  return removed;
}
