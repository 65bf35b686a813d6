import type { FileStore } from '../files/store/file-store.ts';
import { FileRefused } from '../files/keys/file-key.ts';
import type { FileRecord } from '../state/file-records.ts';

type Files = Pick<FileStore, 'copy' | 'stage'>;

/** A copy of a file that is a tool's own for one call. */
export interface WorkCopy {
  readonly place: FileRecord;
  /** For the upstream. */
  readonly path: string;
  /** Which bytes it was made of (see `FileVersion`). */
  readonly versionId: string;
}

/** Makes one. FileRefused: the file's bytes are not there, or are not those that its record names. */
export async function workCopy(
  files: Files,
  file: FileRecord,
  place: FileRecord,
  signal: AbortSignal,
): Promise<WorkCopy> {
  await files.copy(file, place, { atomic: false, signal });
  await using made = await files.stage.open(place);
  return { place, path: files.stage.toolPathOf(made.path), versionId: made.version.id };
}

/** Whether a tool has left a copy as it was. */
export async function isUntouched(files: Files, { place, versionId }: WorkCopy): Promise<boolean> {
  try {
    await using opened = await files.stage.open(place);
    return opened.version.id === versionId;
  } catch (error) {
    if (error instanceof FileRefused) return false;
    throw error;
  }
}
