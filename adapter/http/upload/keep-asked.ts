import type { FileRecord, FileRecords } from '../../state/file-records.ts';

/**
 * A person uploads long before the call goes on that asked for the file: so its files are kept until its link would have
 * expired, used or not. Never fails: without it they live as long as any other.
 */
export async function keepAsked(
  records: Pick<FileRecords, 'use'>,
  files: readonly FileRecord[],
  { until, ttlMs }: { readonly until: number; readonly ttlMs: number | null },
): Promise<void> {
  // At the time of their making: nobody has used them yet.
  const kept = files.map((file) => records.use(file, { now: file.createdAt, ttlMs, leaseUntil: until }));
  await Promise.allSettled(kept);
}
