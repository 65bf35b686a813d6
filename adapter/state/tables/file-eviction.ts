import { type FileKind, type FileRecord, heldBytes } from '../file-records.ts';
import type { StoredFile } from './file-table.ts';

/**
 * The committed files of a session that go so that at least `bytes` become free: spilled ones first, then the kind
 * `evictFirst`, then least recently used first, and none that somebody uses. Undefined when all of them would not do.
 */
export function evictionFor(
  bytes: number,
  files: readonly StoredFile[],
  { evictFirst, now }: { evictFirst: FileKind; now: number },
): FileRecord[] | undefined {
  const order = (a: FileRecord, b: FileRecord): number =>
    Number(b.spilled ?? false) - Number(a.spilled ?? false) ||
    Number(b.kind === evictFirst) - Number(a.kind === evictFirst) ||
    a.lastUsedAt - b.lastUsedAt ||
    a.createdAt - b.createdAt ||
    (a.fileId < b.fileId ? -1 : 1);
  const candidates = files
    .map(({ record }) => record)
    .filter((file) => file.state === 'committed' && file.leaseUntil <= now && heldBytes(file) > 0)
    .sort(order);

  const evicted: FileRecord[] = [];
  let free = 0;
  for (const record of candidates) {
    if (free >= bytes) break;
    evicted.push(record);
    free += heldBytes(record);
  }
  return free >= bytes ? evicted : undefined;
}
