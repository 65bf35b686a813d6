import type { FileStore } from '../files/store/file-store.ts';
import { FileRefused } from '../files/keys/file-key.ts';
import type { FileRecord } from '../state/file-records.ts';

type Files = Pick<FileStore, 'open' | 'stage'>;

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
  await copyBytes(files, file, place, { atomic: false, signal });
  await using made = await files.stage.open(place);
  return { place, path: files.stage.toolPathOf(made.path), versionId: made.version.id };
}

/** Writes the bytes of a stored file to another place. */
export async function copyBytes(
  files: Files,
  file: FileRecord,
  place: FileRecord,
  { atomic, signal }: { readonly atomic: boolean; readonly signal: AbortSignal },
): Promise<void> {
  await using source = await files.open(file, signal);
  const writer = await files.stage.create(place, { atomic });
  try {
    for await (const chunk of source.read({ signal })) await writer.write(chunk);
    await writer.finish();
  } catch (error) {
    await writer.abort();
    throw error;
  }
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
