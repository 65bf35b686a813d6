import { lstat } from 'node:fs/promises';

import type { FileRecord } from '../../state/file-records.ts';
import type { StagingArea, StagedItem } from '../disk/staging-area.ts';
import { mediaType } from '../keys/media-type.ts';
import { hashOf, startOf } from '../keys/opened-bytes.ts';
import { isForbidden } from '../disk/disk-failure.ts';
import { FileRefused } from '../keys/file-key.ts';

/** A file as the folder describes it; whose it is it says only where each server has a folder. */
export type FoundFile = Omit<FileRecord, 'serverId'> & { readonly serverId: string | undefined };

export interface ReaderOptions {
  readonly stage: Pick<StagingArea, 'filesIn' | 'open'>;
  /** `artifacts.expose_as_resources`. */
  readonly exposed: boolean;
}

export interface ReadItem {
  /** Undefined: there is no file that we would have made. */
  readonly file: FoundFile | undefined;
  /** Files in the item's folder that are left alone: an item holds one, and the newest counts. */
  readonly others: number;
}

/** What file names consist of, here and in the original, which let them be longer. None begins with a dot. */
const FILENAME = /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/;

/** Describes what lies in an item's folder as the record of it would. Uploads are read in full for their hash. */
export async function readItem(
  item: StagedItem & { readonly fileId: string },
  { stage, exposed }: ReaderOptions,
  now: number,
  signal: AbortSignal,
): Promise<ReadItem> {
  const { serverId, kind, sessionId, fileId } = item;
  const names = await stage.filesIn({ serverId, kind, sessionId, fileId });
  const filename = names.find((name) => FILENAME.test(name));
  if (filename === undefined) return { file: undefined, others: names.length };
  const place = { serverId, kind, sessionId, fileId, filename };
  try {
    await using opened = await stage.open(place);
    const accessedAt = await timeOfAccess(opened.path);
    const createdAt = Math.min(opened.modifiedAt, now);
    const file: FoundFile = {
      ...place,
      state: 'committed',
      mimeType: mediaType(filename, await startOf(opened, signal)),
      sizeBytes: opened.size,
      sha256: kind === 'upload' ? await hashOf(opened, signal) : null,
      toolName: null,
      exposed: kind === 'artifact' && exposed,
      createdAt,
      lastUsedAt: Math.min(Math.max(createdAt, accessedAt), now),
      leaseUntil: 0,
    };
    return { file, others: names.length - 1 };
  } catch (error) {
    if (error instanceof FileRefused || isForbidden(error)) return { file: undefined, others: names.length };
    throw error;
  }
}

/** Milliseconds since the epoch; 0 when the file is gone. It only sets a time, so it does not matter whose it is. */
async function timeOfAccess(path: string): Promise<number> {
  try {
    return Math.floor((await lstat(path)).atimeMs);
  } catch {
    return 0;
  }
}
