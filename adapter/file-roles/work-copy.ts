import { FileRefused } from '../files/keys/file-key.ts';
import type { FileStore } from '../files/store/file-store.ts';
import type { FileRecord } from '../state/file-records.ts';

type Files = Pick<FileStore, 'copy' | 'stage'>;

/** A copy of a file that is a tool's own for one call. */
export interface WorkCopy {
  readonly place: FileRecord;
  /** For the upstream. */
  readonly path: string;
  /** Which bytes it was made of (see `FileVersion`), and in what state its folder was. */
  readonly versionId: string;
  readonly folderId: string;
}

/** Makes one. FileRefused: the file's bytes are not there, or are not those that its record names. */
export async function workCopy(
  files: Files,
  file: FileRecord,
  place: FileRecord,
  signal: AbortSignal,
): Promise<WorkCopy> {
  await files.copy(file, place, { atomic: false, signal });
  const { stage } = files;
  const made = await stage.stateOf(place);
  if (made === undefined) throw new FileRefused('missing', `the copy of ${file.kind} ${file.fileId} was removed`);
  return { place, path: stage.toolPathOf(stage.pathOf(place)), versionId: made.file, folderId: made.folder };
}

/** What is left of a copy: `file`: as it was made; `folder`: the same, and nothing beside it has come or gone. */
export async function untouched(
  { stage }: Pick<Files, 'stage'>,
  copy: WorkCopy,
): Promise<{ readonly file: boolean; readonly folder: boolean }> {
  const state = await stage.stateOf(copy.place);
  const file = state?.file === copy.versionId;
  return { file, folder: file && state.folder === copy.folderId };
}
