import { constants } from 'node:fs';
import { access as checkAccess, mkdir, realpath } from 'node:fs/promises';
import { basename, dirname, posix, resolve } from 'node:path';
import type { FileKind } from '../state/file-records.ts';
import { AnchoredFolder, rawName, syncFolders, utf8 } from './anchored-folder.ts';
import { emptyFolder, removeEntry } from './anchored-removal.ts';
import { DiskFile } from './disk-file.ts';
import { diskFailure, errorCode, onDisk } from './disk-failure.ts';
import { stagedItems } from './disk-items.ts';
import { DiskWriter } from './disk-writer.ts';
import type { FileStage, StagedItem } from './file-stage.ts';
import { type OutputFences, outputCandidates } from './output-candidates.ts';
import { isComponent, isId, sessionsFolder, TEMPORARY_NAME } from './paths.ts';
import { type FilePlace, FileRefused, type FileWriter, type OpenedFile } from './places.ts';

export interface DiskStageOptions {
  /** `storage.root`; made when it is missing. */
  readonly root: string;
  /** `storage.access`: who may read and write what lies there. */
  readonly access: 'owner' | 'group' | 'all';
  /** `storage.atomic_writes`. */
  readonly atomicWrites: boolean;
  /** `storage.artifact_locator_allowed_roots` where the policy allows them, else none. */
  readonly locatorRoots: readonly string[];
  /** Files that no tool may name as its output, wherever they lie: the state database. */
  readonly forbidden: readonly string[];
  /** Whether /proc/self/fd leads to open files; looked up by default. */
  readonly anchored?: boolean;
}

type Item = Omit<FilePlace, 'filename'>;

const PERMISSIONS = {
  owner: { folder: 0o700, file: 0o600 },
  group: { folder: 0o770, file: 0o660 },
  all: { folder: 0o777, file: 0o666 },
} as const;

/** Somebody may remove an empty folder just when we are about to put something into it. */
const MAKING_ATTEMPTS = 20;
const VANISHED: ReadonlySet<FileRefused['reason']> = new Set(['missing', 'changed']);
/** A tool may fill its folder with any number of files; nobody looks at more of them. */
const MOST_FILES = 1_000;

/** The stage as a folder of this machine, local or shared (NFS, CephFS, …). */
export class DiskStage implements FileStage {
  readonly #root: string;
  readonly #options: DiskStageOptions;
  readonly #permissions: { readonly folder: number; readonly file: number };
  readonly #anchored: boolean;

  private constructor(root: string, options: DiskStageOptions, anchored: boolean) {
    this.#root = root;
    this.#options = options;
    this.#permissions = PERMISSIONS[options.access];
    this.#anchored = anchored;
  }

  static async open(options: DiskStageOptions): Promise<DiskStage> {
    const root = await onDisk(options.root, async () => {
      await mkdir(options.root, { recursive: true });
      await checkAccess(options.root, constants.R_OK | constants.W_OK | constants.X_OK);
      return realpath(options.root);
    });
    return new DiskStage(root, options, options.anchored ?? (await hasDescriptorPaths()));
  }

  pathOf(place: FilePlace): string {
    checkItem(place);
    if (!isComponent(place.filename)) throw new FileRefused('outside', 'the file name is none');
    return posix.join(this.#folderOf(place), place.filename);
  }

  async prepare(place: FilePlace): Promise<string> {
    const path = this.pathOf(place);
    const { folder } = await this.#makeItem(place);
    folder.close();
    return path;
  }

  async create(place: FilePlace, options?: { readonly atomic: true }): Promise<FileWriter> {
    this.pathOf(place);
    const { folder, above } = await this.#makeItem(place);
    return DiskWriter.create(folder, rawName(place.filename), {
      permissions: this.#permissions.file,
      atomic: options?.atomic ?? this.#options.atomicWrites,
      above,
      anchored: this.#anchored,
    });
  }

  async open(place: FilePlace): Promise<OpenedFile> {
    return DiskFile.open(this.pathOf(place), this.#anchored);
  }

  async openOutput(path: string, sessionId: string): Promise<OpenedFile> {
    if (!isId(sessionId)) throw new FileRefused('outside', 'the session id is none');
    const candidates = outputCandidates(path, sessionId, await this.#fences());
    let refused = new FileRefused('outside', 'the path is none that files of tools may have');
    for (const candidate of candidates) {
      try {
        return await DiskFile.open(candidate, this.#anchored);
      } catch (error) {
        refused = asRefusal(error, candidate);
        if (refused.reason !== 'missing') break;
      }
    }
    throw refused;
  }

  async filesIn(item: Item): Promise<string[]> {
    checkItem(item);
    const found: { name: string; modifiedAt: number }[] = [];
    await this.#inItem(item, async (folder) => {
      for await (const { name } of folder.entries()) {
        const readable = utf8(name);
        if (TEMPORARY_NAME.test(readable) || rawName(readable) !== name) continue;
        const stats = await folder.stats(name);
        if (stats?.isFile()) found.push({ name: readable, modifiedAt: stats.mtimeMs });
        if (found.length === MOST_FILES) break;
      }
    });
    return found.sort((a, b) => b.modifiedAt - a.modifiedAt).map(({ name }) => name);
  }

  async rename(place: FilePlace, filename: string): Promise<void> {
    this.pathOf(place);
    this.pathOf({ ...place, filename });
    using folder = await AnchoredFolder.open(this.#folderOf(place), this.#anchored);
    if ((await folder.stats(rawName(filename))) !== undefined) {
      throw new FileRefused('changed', `${folder.path} has a file ${filename} already`);
    }
    await folder.rename(rawName(place.filename), rawName(filename));
  }

  async keepOnly(place: FilePlace): Promise<void> {
    this.pathOf(place);
    await this.#inItem(place, async (folder) => {
      await emptyFolder(folder, rawName(place.filename));
      if (!this.#options.atomicWrites) return;
      const handle = await folder.openFile(rawName(place.filename), 'readable');
      try {
        await onDisk(this.pathOf(place), () => handle.sync());
      } finally {
        await handle.close();
      }
      await folder.sync();
      const session = dirname(folder.path);
      await syncFolders([session, dirname(session)], this.#anchored);
    });
  }

  async removeItem(item: Item): Promise<void> {
    checkItem(item);
    await this.#in(this.#sessionFolder(item), (session) => removeEntry(session, item.fileId));
  }

  async removeSession(sessionId: string): Promise<void> {
    if (!isId(sessionId)) throw new FileRefused('outside', 'the session id is none');
    for (const kind of ['upload', 'artifact'] as const) {
      await this.#in(sessionsFolder(this.#root, kind), (sessions) => removeEntry(sessions, sessionId));
    }
  }

  async *items(kind: FileKind, signal: AbortSignal): AsyncGenerator<StagedItem> {
    const sessions = await this.#opened(sessionsFolder(this.#root, kind));
    if (sessions === undefined) return;
    using opened = sessions;
    yield* stagedItems(opened, kind, signal);
  }

  async removeStray(item: StagedItem): Promise<void> {
    const { kind, sessionId, entry } = item;
    await this.#in(sessionsFolder(this.#root, kind), async (sessions) => {
      if (entry === null) return removeEmpty(sessions, sessionId);
      const session = await openedIn(sessions, sessionId);
      if (session === undefined) return;
      using opened = session;
      await removeEntry(opened, entry);
    });
  }

  async removeTemporary(item: StagedItem, olderThan: number): Promise<number> {
    const { kind, sessionId, fileId, temporary } = item;
    let removed = 0;
    if (fileId === null) return removed;
    await this.#inItem({ kind, sessionId, fileId }, async (folder) => {
      for (const name of temporary) {
        const stats = await folder.stats(name);
        if (stats === undefined || stats.mtimeMs >= olderThan) continue;
        await removeEntry(folder, name);
        removed += 1;
      }
    });
    return removed;
  }

  /** Makes an item's folder and those above it. */
  async #makeItem(item: Item): Promise<{ folder: AnchoredFolder; above: string[] }> {
    const { folder: permissions } = this.#permissions;
    for (let attempt = 1; ; attempt++) {
      try {
        const above = await this.#makeSession(item);
        using session = above.folder;
        const { folder } = await session.makeFolder(item.fileId, permissions);
        return { folder, above: above.made ? [session.path, dirname(session.path)] : [session.path] };
      } catch (error) {
        if (!(error instanceof FileRefused && VANISHED.has(error.reason))) throw error;
        if (attempt === MAKING_ATTEMPTS) {
          throw new FileRefused('changed', `${this.#folderOf(item)} is removed while it is made`, { cause: error });
        }
      }
    }
  }

  async #makeSession(item: Item): Promise<{ folder: AnchoredFolder; made: boolean }> {
    const there = await this.#opened(this.#sessionFolder(item));
    if (there !== undefined) return { folder: there, made: false };
    using sessions = await this.#makeSessions(item.kind);
    return await sessions.makeFolder(item.sessionId, this.#permissions.folder);
  }

  async #makeSessions(kind: FileKind): Promise<AnchoredFolder> {
    const path = sessionsFolder(this.#root, kind);
    const there = await this.#opened(path);
    if (there !== undefined) return there;
    using root = await AnchoredFolder.open(this.#root, this.#anchored);
    const { folder: tree } = await root.makeFolder(`${kind}s`, this.#permissions.folder);
    using opened = tree;
    const { folder } = await opened.makeFolder('sessions', this.#permissions.folder);
    if (this.#options.atomicWrites) await Promise.all([root.sync(), opened.sync()]);
    return folder;
  }

  /** Undefined when there is no such folder. */
  async #opened(path: string): Promise<AnchoredFolder | undefined> {
    try {
      return await AnchoredFolder.open(path, this.#anchored);
    } catch (error) {
      if (error instanceof FileRefused && error.reason === 'missing') return undefined;
      throw error;
    }
  }

  /** Works in a folder; does nothing when there is none. */
  async #in(path: string, work: (folder: AnchoredFolder) => Promise<void>): Promise<void> {
    const folder = await this.#opened(path);
    if (folder === undefined) return;
    using opened = folder;
    await work(opened);
  }

  #inItem(item: Item, work: (folder: AnchoredFolder) => Promise<void>): Promise<void> {
    return this.#in(this.#folderOf(item), work);
  }

  #sessionFolder({ kind, sessionId }: Item): string {
    return posix.join(sessionsFolder(this.#root, kind), sessionId);
  }

  #folderOf(item: Item): string {
    return posix.join(this.#sessionFolder(item), item.fileId);
  }

  /** Looked up each time: a configured root may be mounted later than we start. */
  async #fences(): Promise<OutputFences> {
    const { root, locatorRoots, forbidden } = this.#options;
    const roots = await Promise.all(
      locatorRoots.map(async (configured) => ({ configured: resolve(configured), real: await realFolder(configured) })),
    );
    return {
      root: this.#root,
      configuredRoot: resolve(root),
      roots: roots.flatMap(({ configured, real }) => (real === undefined ? [] : [{ configured, real }])),
      forbidden: (await Promise.all(forbidden.map(realAndConfigured))).flat(),
    };
  }
}

async function realAndConfigured(path: string): Promise<string[]> {
  const folder = await realFolder(dirname(path));
  return folder === undefined ? [resolve(path)] : [resolve(path), posix.join(folder, basename(path))];
}

/** The real path of a folder, undefined when there is none. */
async function realFolder(path: string): Promise<string | undefined> {
  try {
    return await realpath(path);
  } catch {
    return undefined;
  }
}

/** Removes a folder that is empty, or what is no folder; leaves a folder into which something has come. */
async function removeEmpty(parent: AnchoredFolder, name: string): Promise<void> {
  try {
    await parent.rmdir(name);
  } catch (error) {
    const code = errorCode(error);
    if (code === 'ENOTDIR') await removeEntry(parent, name);
    else if (!['ENOENT', 'ENOTEMPTY', 'EEXIST'].includes(code)) throw diskFailure(error, parent.pathOf(name));
  }
}

/** Linux only: elsewhere, paths of that name are copies of descriptors and lead into no folder. */
async function hasDescriptorPaths(): Promise<boolean> {
  return process.platform === 'linux' && (await realFolder('/proc/self/fd')) !== undefined;
}

function checkItem({ sessionId, fileId }: Item): void {
  if (!isId(sessionId) || !isId(fileId)) throw new FileRefused('outside', 'an id is none');
}

/** Whatever is wrong with what a tool names is a reason to refuse it. */
function asRefusal(error: unknown, path: string): FileRefused {
  if (error instanceof FileRefused) return error;
  return new FileRefused('unreadable', `${path} cannot be read`, { cause: error });
}

async function openedIn(folder: AnchoredFolder, name: string): Promise<AnchoredFolder | undefined> {
  try {
    return await folder.openFolder(name);
  } catch (error) {
    if (error instanceof FileRefused) return undefined;
    throw error;
  }
}
