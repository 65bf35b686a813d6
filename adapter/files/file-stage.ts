import type { FileKind } from '../state/file-records.ts';
import type { FilePlace, FileWriter, OpenedFile } from './places.ts';

/** The folder `storage.root`, which all replicas and upstreams share. */
export interface FileStage {
  /** Absolute. */
  pathOf(place: FilePlace): string;
  /** Makes the folder that an upstream shall write the file into. Returns the file's path. */
  prepare(place: FilePlace): Promise<string>;
  create(place: FilePlace): Promise<FileWriter>;
  /** Fails with FileRefused when the file is not there or is not what it should be. */
  open(place: FilePlace): Promise<OpenedFile>;
  /**
   * Opens what a tool says that it wrote: below this session's own folders or one of the configured roots
   * (`storage.artifact_locator_policy`). Fails with FileRefused for anything else, whatever it is.
   */
  openOutput(path: string, sessionId: string): Promise<OpenedFile>;
  /** Whether an item's folder holds a file beside the expected one: `[filename]` newest first, temporary ones left out. */
  filesIn(place: Omit<FilePlace, 'filename'>): Promise<string[]>;
  /** Gives a file of an item's folder another name in it. */
  rename(place: FilePlace, filename: string): Promise<void>;
  /** Removes an item's folder. Follows no link; harmless when there is none. */
  removeItem(item: Omit<FilePlace, 'filename'>): Promise<void>;
  /** Removes both folders of a session. */
  removeSession(sessionId: string): Promise<void>;
  /** Everything below `{kind}s/sessions`, read as the consumer goes on; also what is no proper item. */
  items(kind: FileKind, signal: AbortSignal): AsyncIterable<StagedItem>;
}

export interface StagedItem {
  readonly kind: FileKind;
  /** As the folders are called; need not be ids. */
  readonly sessionId: string;
  /** Null: something else than a folder of files lies in the session's folder, or the session's folder is empty. */
  readonly fileId: string | null;
  /** The newest of the folder and of what it holds, in milliseconds since the epoch. */
  readonly modifiedAt: number;
}
