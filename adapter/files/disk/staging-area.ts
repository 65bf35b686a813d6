import type { FileKind } from '../../state/file-records.ts';
import type { FileKey, FileWriter, OpenedFile, StorageFault } from '../keys/file-key.ts';
import type { ScratchFile } from './scratch-file.ts';

/**
 * The folder `storage.root`, which all replicas and upstreams share. Upstreams may put anything into it at any time:
 * no method follows a link or leaves the root. Failures of the disk itself are StorageFaults.
 */
export interface StagingArea {
  /** Where a new file goes; absolute, for this process. */
  pathOf(place: FileKey): string;
  /** Where a file may lie, the first is `pathOf`: it may be older than what `storage.layout` says now. */
  pathsOf(place: FileKey): readonly string[];
  /** A path of ours for upstreams: below `storage.root` as it is configured, where that is a link for us. */
  toolPathOf(path: string): string;
  /** Makes the folder that an upstream shall write the file into. Returns the file's path for the upstream. */
  prepare(place: FileKey): Promise<string>;
  /**
   * Makes the folder too. The writer fails with FileRefused when somebody removed the folder meanwhile. `atomic` counts
   * more than `storage.atomic_writes`.
   */
  create(place: FileKey, options?: { readonly atomic: boolean }): Promise<FileWriter>;
  /** A place for bytes that nobody else sees, and that are gone with the process. */
  scratch(): Promise<ScratchFile>;
  /** Fails with FileRefused when the file is not there or is not what it should be. */
  open(place: FileKey): Promise<OpenedFile>;
  /**
   * In what state a file and its folder are, as the `id` of `FileVersion` says it; links are looked at, not followed. Undefined:
   * one of them is not there.
   */
  stateOf(place: FileKey): Promise<{ readonly file: string; readonly folder: string } | undefined>;
  /**
   * Opens what a tool says that it wrote: below this session's own folders or one of the configured roots
   * (`storage.artifact_locator_policy`). Fails with FileRefused for anything else, whatever it is.
   */
  openOutput(path: string, sessionId: string, serverId?: string): Promise<OpenedFile>;
  /**
   * Opens a file that a tool has written into a folder of its own, outside of ours. `path`: absolute, or from the folder on.
   * Fails with FileRefused for anything that is not a plain file below the folder.
   */
  openFound(path: string, folder: string): Promise<OpenedFile>;
  /** Removes a file that `openFound` has opened, unless another one is in its place by now. */
  removeFound(file: OpenedFile): Promise<void>;
  /** The regular files directly in an item's folder, newest first, temporary ones left out; none without a folder. */
  filesIn(item: Omit<FileKey, 'filename'>): Promise<string[]>;
  /**
   * Gives a file of an item's folder another name in it, which survives a crash with `keepOnly`. FileRefused: it is not
   * there, or the new name is taken.
   */
  rename(place: FileKey, filename: string): Promise<void>;
  /** Writes an open file to the disk, as `keepOnly` will, which then waits the less; nothing where files need not survive a crash. */
  flush(opened: Pick<OpenedFile, 'sync'>): Promise<void>;

  /**
   * Removes everything but this file from its folder, and makes what a tool has written there survive a crash. `opened`:
   * the file, where it is open already.
   */
  keepOnly(place: FileKey, opened?: Pick<OpenedFile, 'sync'>): Promise<void>;
  /** Makes an empty folder in the place of a file, for an upstream to fill. Returns its path for the upstream. */
  prepareFolder(place: FileKey): Promise<string>;
  /** The plain files in that folder and those below it, each by its names from there on; in no special order. */
  filesBelow(place: FileKey): AsyncIterable<readonly string[]>;
  /**
   * Moves a file into the place of another item, with or without `below` from such a folder. FileRefused: it is not there.
   */
  take(from: FileKey, to: FileKey, below?: readonly string[]): Promise<void>;
  /** Removes one version of a file, and no other. Harmless when it is not there. */
  removeVersion(version: FileKey): Promise<void>;
  /** Removes an item's folder. Harmless when there is none. */
  removeItem(item: Omit<FileKey, 'filename'>): Promise<void>;
  /** Removes the folders of a session. */
  removeSession(sessionId: string, serverId?: string): Promise<void>;
  /** Everything in the folders of sessions, read as the consumer goes on; also what is no proper item. */
  items(kind: FileKind, signal: AbortSignal): AsyncIterable<StagedItem>;
  /** Removes what `items` gave, whatever it is; a session's folder only when it is empty. */
  removeStray(item: StagedItem): Promise<void>;
  /** Removes entries of a proper item, by their names, that were last written before `olderThan`. Returns how many. */
  removeEntries(item: StagedItem, names: readonly string[], olderThan: number): Promise<number>;
}

export interface StagedItem {
  /** Whose folder it lies in; undefined where files of all servers lie together. */
  readonly serverId?: string | undefined;
  readonly kind: FileKind;
  /** As the folder is called; need not be an id. */
  readonly sessionId: string;
  /** The name in the session's folder; null: the session's own entry, which is an empty folder or no folder. */
  readonly entry: string | null;
  /** Null when it is no proper item: a folder called by an id in a folder called by an id. */
  readonly fileId: string | null;
  /** Names of temporary files in a proper item. */
  readonly temporary: readonly string[];
  /** Names of everything else in a proper item that holds versions of an edited file; bytes. */
  readonly versions?: readonly string[];
  /** The newest of the folder and of what it holds, in milliseconds since the epoch. */
  readonly modifiedAt: number;
  /** Why this user may not look into it; then nothing else is known of it, and it is neither adopted nor removed. */
  readonly unreadable?: StorageFault;
}
