import { constants, existsSync } from 'node:fs';
import { access as checkAccess, mkdir, realpath } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import type { Storage } from '../../../crds/config/adapter-file/storage.ts';
import type { FileKind } from '../../state/file-records.ts';
import { AnchoredFolder, rawName, syncFolders } from './anchored-folder.ts';
import { emptyFolder, removeEntry } from './anchored-removal.ts';
import { type DiskCalls, diskCalls } from './disk-calls.ts';
import { DiskFile, versionId } from './disk-file.ts';
import { diskFailure, errorCode, onDisk } from './disk-failure.ts';
import {
  type DiskWays,
  type FolderOptions,
  inEachFolder,
  inFolder,
  type Item,
  itemFolder,
  makeItemFolder,
  openedFolder,
  sessionFolder,
  whileItVanishes,
} from './disk-folders.ts';
import { regularFiles } from './disk-items.ts';
import { openFirst, outputFences } from './disk-output.ts';
import { filesBelow, moveBelow } from './disk-tree.ts';
import { DiskStrays } from './disk-strays.ts';
import { DiskWriter } from './disk-writer.ts';
import type { StagingArea, StagedItem } from './staging-area.ts';
import { foundCandidates, outputCandidates } from './output-candidates.ts';
import { ScratchFile } from './scratch-file.ts';
import { isComponent, isId } from '../keys/paths.ts';
import { type FileKey, FileRefused, type FileWriter, type OpenedFile } from '../keys/file-key.ts';
import { sessionsFolder, type Tree, treesOf } from '../keys/storage-layout.ts';

export interface DiskStageOptions {
  /** `storage.root`; made when it is missing. */
  readonly root: string;
  /** `storage.access`: who may read and write what lies there. */
  readonly access: 'owner' | 'group' | 'all';
  /** `storage.atomic_writes`. */
  readonly atomicWrites: boolean;
  /** `storage.layout`. Default: shared. */
  readonly layout?: Storage['layout'];
  /** `storage.artifact_locator_allowed_roots` where the policy allows them, else none. */
  readonly locatorRoots: readonly string[];
  /** Files that no tool may name as its output, wherever they lie: the state database. */
  readonly forbidden: readonly string[];
  /** Whether /proc/self/fd leads to open files; looked up by default. */
  readonly anchored?: boolean;
  /** How it takes steps of requests; for the disk that it finds there by default. */
  readonly calls?: DiskCalls;
}

const PERMISSIONS = {
  owner: { folder: 0o700, file: 0o600 },
  group: { folder: 0o770, file: 0o660 },
  all: { folder: 0o777, file: 0o666 },
} as const;

/** A tool may fill its folder with any number of files; nobody looks at more of them. */
const MOST_FILES = 1_000;

/** The stage as a folder of this machine, local or shared (NFS, CephFS, …). */
export class DiskStagingArea implements StagingArea {
  readonly #root: string;
  readonly #options: DiskStageOptions;
  readonly #folders: FolderOptions;
  readonly #ways: DiskWays;
  readonly #strays: DiskStrays;

  private constructor(root: string, options: DiskStageOptions, ways: DiskWays) {
    this.#root = root;
    this.#options = options;
    this.#ways = ways;
    this.#strays = new DiskStrays(root, ways);
    const permissions = PERMISSIONS[options.access].folder;
    this.#folders = { root, permissions, ...ways, synced: options.atomicWrites };
  }

  static async open(options: DiskStageOptions): Promise<DiskStagingArea> {
    const root = await onDisk(options.root, async () => {
      await mkdir(options.root, { recursive: true });
      await checkAccess(options.root, constants.R_OK | constants.W_OK | constants.X_OK);
      return realpath(options.root);
    });
    const calls = options.calls ?? (await onDisk(root, () => diskCalls(root)));
    return new DiskStagingArea(root, options, { anchored: options.anchored ?? hasDescriptorPaths(), calls });
  }

  pathOf(place: FileKey): string {
    return pathBelow(this.#root, place, this.#trees(place)[0]);
  }

  pathsOf(place: FileKey): string[] {
    return this.#trees(place).map((tree) => pathBelow(this.#root, place, tree));
  }

  toolPathOf(path: string): string {
    return join(resolve(this.#options.root), relative(this.#root, path));
  }

  async prepare(place: FileKey): Promise<string> {
    const path = this.toolPathOf(this.pathOf(place));
    const { folder, session } = await makeItemFolder(place, this.#trees(place)[0], this.#folders);
    folder.close();
    session.close();
    return path;
  }

  async create(place: FileKey, options?: { readonly atomic: boolean }): Promise<FileWriter> {
    const path = this.pathOf(place);
    const { atomicWrites, access } = this.#options;
    return whileItVanishes(dirname(path), async () => {
      const folders = await makeItemFolder(place, this.#trees(place)[0], this.#folders);
      return DiskWriter.create(folders, rawName(place.filename), {
        permissions: PERMISSIONS[access].file,
        atomic: options?.atomic ?? atomicWrites,
        ...this.#ways,
      });
    });
  }

  scratch(): Promise<ScratchFile> {
    return ScratchFile.open(this.#root);
  }

  async open(place: FileKey): Promise<OpenedFile> {
    let missing: unknown;
    for (const path of this.pathsOf(place)) {
      try {
        return await DiskFile.open(path, this.#ways.anchored, this.#ways.calls);
      } catch (error) {
        if (!(error instanceof FileRefused && error.reason === 'missing')) throw error;
        missing ??= error;
      }
    }
    throw missing;
  }

  async stateOf(place: FileKey): Promise<{ readonly file: string; readonly folder: string } | undefined> {
    const path = this.pathOf(place);
    try {
      const [file, folder] = await Promise.all([this.#ways.calls.lstat(path), this.#ways.calls.lstat(dirname(path))]);
      return { file: versionId(file), folder: versionId(folder) };
    } catch (error) {
      if (['ENOENT', 'ENOTDIR'].includes(errorCode(error))) return undefined;
      throw diskFailure(error, path);
    }
  }

  async openOutput(path: string, sessionId: string, serverId?: string): Promise<OpenedFile> {
    if (!isId(sessionId)) throw new FileRefused('outside', 'the session id is none');
    const candidates = outputCandidates(path, { sessionId, serverId }, await outputFences(this.#root, this.#options));
    return openFirst(candidates, this.#ways.anchored);
  }

  async openFound(path: string, folder: string): Promise<OpenedFile> {
    const fences = await outputFences(this.#root, { ...this.#options, locatorRoots: [folder] });
    return openFirst(foundCandidates(path, folder, fences), this.#ways.anchored);
  }

  async removeFound({ path, version }: OpenedFile): Promise<void> {
    await inFolder(dirname(path), this.#ways, async (folder) => {
      const there = await DiskFile.open(path, this.#ways.anchored, this.#ways.calls);
      const isIt = there.version.id === version.id;
      await there.close();
      if (isIt) await folder.unlink(rawName(basename(path)));
    });
  }

  async filesIn(item: Item): Promise<string[]> {
    checkItem(item);
    const found: { name: string; modifiedAt: number }[] = [];
    for (const tree of this.#trees(item)) {
      await inFolder(itemFolder(this.#root, item, tree), this.#ways, async (folder) => {
        for await (const file of regularFiles(folder)) if (found.push(file) === MOST_FILES) break;
      });
      if (found.length > 0) break;
    }
    return found.sort((a, b) => b.modifiedAt - a.modifiedAt).map(({ name }) => name);
  }

  async rename(place: FileKey, filename: string): Promise<void> {
    this.pathOf(place);
    this.pathOf({ ...place, filename });
    using folder = await AnchoredFolder.open(dirname(this.pathOf(place)), this.#ways.anchored);
    if ((await folder.stats(rawName(filename))) !== undefined) {
      throw new FileRefused('changed', `${folder.path} has a file ${filename} already`);
    }
    await folder.rename(rawName(place.filename), rawName(filename));
  }

  async flush(opened: Pick<OpenedFile, 'sync'>): Promise<void> {
    if (this.#options.atomicWrites) await opened.sync();
  }

  async keepOnly(place: FileKey, opened?: Pick<OpenedFile, 'sync'>): Promise<void> {
    const name = rawName(place.filename);
    const there = await openedFolder(dirname(this.pathOf(place)), this.#ways.anchored, this.#ways.calls);
    if (there === undefined) return;
    using folder = there;
    // The file and all folders at once: file systems with a journal write it once for all of them.
    const syncs = this.#options.atomicWrites ? [this.#syncFile(place, opened), this.#syncAbove(folder)] : [];
    const results = await Promise.allSettled([this.#emptied(folder, name), ...syncs]);
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }

  async prepareFolder(place: FileKey): Promise<string> {
    const path = this.toolPathOf(this.pathOf(place));
    const { folder, session } = await makeItemFolder(place, this.#trees(place)[0], this.#folders);
    using item = folder;
    session.close();
    const { folder: made } = await item.makeFolder(rawName(place.filename), this.#folders.permissions);
    made.close();
    return path;
  }

  async *filesBelow(place: FileKey): AsyncGenerator<readonly string[]> {
    const there = await openedFolder(this.pathOf(place), this.#ways.anchored, this.#ways.calls);
    if (there === undefined) return;
    using folder = there;
    yield* filesBelow(folder);
  }

  async take(from: FileKey, to: FileKey, below: readonly string[] = []): Promise<void> {
    const names = [from.filename, ...below].map(rawName);
    const { folder, session } = await makeItemFolder(to, this.#trees(to)[0], this.#folders);
    using target = folder;
    session.close();
    using item = await AnchoredFolder.open(dirname(this.pathOf(from)), this.#ways.anchored, this.#ways.calls);
    await moveBelow(item, names, target, rawName(to.filename));
  }

  async removeVersion({ contentId, filename, ...item }: FileKey): Promise<void> {
    checkItem(item);
    const folders = this.#trees(item).map((tree) => itemFolder(this.#root, item, tree));
    await inEachFolder(folders, this.#ways, (folder) => removeEntry(folder, contentId ?? rawName(filename)));
  }

  async removeItem(item: Item): Promise<void> {
    checkItem(item);
    const folders = this.#trees(item).map((tree) => sessionFolder(this.#root, item, tree));
    await inEachFolder(folders, this.#ways, (session) => removeEntry(session, item.fileId));
  }

  async removeSession(sessionId: string, serverId?: string): Promise<void> {
    if (!isId(sessionId)) throw new FileRefused('outside', 'the session id is none');
    const folders = (['upload', 'artifact'] as const).flatMap((kind) =>
      this.#trees({ serverId }).map((tree) => sessionsFolder(this.#root, kind, tree)),
    );
    await inEachFolder(folders, this.#ways, (sessions) => removeEntry(sessions, sessionId));
  }

  items(kind: FileKind, signal: AbortSignal): AsyncGenerator<StagedItem> {
    return this.#strays.items(kind, signal);
  }

  removeStray(item: StagedItem): Promise<void> {
    return this.#strays.removeStray(item);
  }

  removeEntries(item: StagedItem, names: readonly string[], olderThan: number): Promise<number> {
    return this.#strays.removeEntries(item, names, olderThan);
  }

  async #emptied(folder: AnchoredFolder, except: string): Promise<void> {
    await emptyFolder(folder, except);
    if (this.#options.atomicWrites) await folder.sync();
  }

  async #syncFile(place: FileKey, opened?: Pick<OpenedFile, 'sync'>): Promise<void> {
    if (opened !== undefined) return opened.sync();
    await using file = await this.open(place);
    await file.sync();
  }

  #syncAbove(folder: AnchoredFolder): Promise<void> {
    const session = dirname(folder.path);
    return syncFolders([session, dirname(session)], this.#ways.anchored, this.#ways.calls);
  }

  #trees({ serverId }: Pick<FileKey, 'serverId'>): readonly [Tree, ...Tree[]] {
    return treesOf(this.#options.layout ?? 'shared', serverId);
  }
}

/** Linux only: elsewhere, paths of that name are copies of descriptors and lead into no folder. */
const hasDescriptorPaths = (): boolean => process.platform === 'linux' && existsSync('/proc/self/fd');

function pathBelow(root: string, place: FileKey, tree: Tree): string {
  checkItem(place);
  if (!isComponent(place.filename)) throw new FileRefused('outside', 'the file name is none');
  return join(itemFolder(root, place, tree), place.filename);
}

function checkItem({ sessionId, fileId, contentId }: Item): void {
  const isItem = isId(sessionId) && isId(fileId) && (contentId === undefined || isId(contentId));
  if (!isItem) throw new FileRefused('outside', 'an id is none');
}
