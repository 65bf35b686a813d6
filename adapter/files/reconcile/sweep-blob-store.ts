import type { FileKind, FileRecords } from '../../state/file-records.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import type { FilePlace } from '../keys/file-key.ts';
import type { SecondHome } from '../s3/blob-store.ts';
import type { SweepOptions } from './sweep-orphans.ts';
import { unknownItems } from './unknown-items.ts';

export interface SecondSweepParts {
  readonly records: Pick<FileRecords, 'known'>;
  readonly home: Pick<SecondHome, 'items' | 'remove'>;
  readonly telemetry: Pick<Telemetry, 'filesRemoved'>;
  /** As in `sweepOrphans`. */
  readonly usable: () => boolean;
}

const BATCH = 200;

/** As `sweepOrphans`, for copies in the second home. Returns how many were removed. */
export async function sweepSecondHome(parts: SecondSweepParts, options: SweepOptions): Promise<number> {
  const { records, home, telemetry, usable } = parts;
  const { graceMs, now, signal } = options;
  const isOver = (): boolean => signal.aborted || !usable();
  let removed = 0;
  let batch: (FilePlace & { readonly kind: FileKind })[] = [];

  async function removeUnknown(): Promise<void> {
    if (batch.length === 0 || isOver()) return;
    const orphans = await unknownItems(records, batch);
    if (isOver()) return;
    if (orphans.length === 0) return;
    await home.remove(orphans, signal);
    removed += orphans.length;
    for (const kind of ['upload', 'artifact'] as const) {
      const files = orphans.filter((orphan) => orphan.kind === kind).length;
      if (files > 0) telemetry.filesRemoved({ kind, reason: 'orphan', files });
    }
  }

  for await (const item of home.items(signal)) {
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
