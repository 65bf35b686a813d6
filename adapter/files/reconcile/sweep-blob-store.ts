import type { FileKind, FileRecords } from '../../state/file-records.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import type { FileKey } from '../keys/file-key.ts';
import type { BlobStore } from '../s3/blob-store.ts';
import type { SweepOptions } from './sweep-orphans.ts';
import { unknownItems } from './unknown-items.ts';

export interface BlobSweepDeps {
  readonly records: Pick<FileRecords, 'known'>;
  readonly blobStore: Pick<BlobStore, 'items' | 'remove'>;
  readonly telemetry: Pick<Telemetry, 'filesRemoved'>;
  /** As in `sweepOrphans`. */
  readonly usable: () => boolean;
}

const BATCH = 200;

/** As `sweepOrphans`, for copies in object storage. Returns how many were removed. */
export async function sweepBlobStore(deps: BlobSweepDeps, options: SweepOptions): Promise<number> {
  const { records, blobStore, telemetry, usable } = deps;
  const { graceMs, now, signal } = options;
  const isOver = (): boolean => signal.aborted || !usable();
  let removed = 0;
  let batch: (FileKey & { readonly kind: FileKind })[] = [];

  async function removeUnknown(): Promise<void> {
    if (batch.length === 0 || isOver()) return;
    const orphans = await unknownItems(records, batch);
    if (isOver()) return;
    if (orphans.length === 0) return;
    await blobStore.remove(orphans, signal);
    removed += orphans.length;
    for (const kind of ['upload', 'artifact'] as const) {
      const files = orphans.filter((orphan) => orphan.kind === kind).length;
      if (files > 0) telemetry.filesRemoved({ kind, reason: 'orphan', files });
    }
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
