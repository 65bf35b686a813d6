import { closeSync, constants, type Dirent, fsync, readlinkSync, type Stats } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type DiskCalls, patient } from './disk-calls.ts';
import { diskFailure, errorCode, onDisk } from './disk-failure.ts';
import { isComponent } from '../keys/paths.ts';
import { FileRefused } from '../keys/file-key.ts';

/** A link is never followed, a FIFO or device never waited for, a terminal never taken. Node adds O_CLOEXEC. */
export const CAREFULLY = constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;
const PERMISSIONS = 0o777;
/** Systems of files with fixed permissions (CIFS, some CSI drivers) refuse to change them. */
const FIXED_PERMISSIONS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP']);

const sync = promisify(fsync);

/**
 * An open folder whose entries are reached through its descriptor: whoever renames a folder above it, or puts a link
 * there, cannot lead us elsewhere. Linux has paths for that, /proc/self/fd/N/name; on other systems (`anchored` false)
 * the real path is compared around each step, which leaves a narrow gap.
 *
 * Names of entries are bytes, one character each (latin1), because an upstream may choose names that are no UTF-8.
 *
 * A FileHandle would cost a turn of the thread pool for each look at /proc and each closing, which wait for nothing.
 * Whoever opens one closes it, after everything that works in it has ended: the number may then mean another folder.
 */
export class AnchoredFolder implements Disposable {
  /** Where it was when it was opened; real, without links. */
  readonly path: string;
  /** -1 when it is closed. */
  #fd: number;
  readonly #anchored: boolean;
  readonly #calls: DiskCalls;

  private constructor(path: string, fd: number, anchored: boolean, calls: DiskCalls) {
    this.path = path;
    this.#fd = fd;
    this.#anchored = anchored;
    this.#calls = calls;
  }

  /**
   * Opens the folder at a real path; one that a link leads to is refused. `calls`: for it and for the folders that are
   * opened in it.
   */
  static async open(path: string, anchored: boolean, calls: DiskCalls = patient): Promise<AnchoredFolder> {
    return onDisk(path, () => AnchoredFolder.#opened(path, path, { anchored, calls, checked: true }));
  }

  static async #opened(
    path: string,
    reachedBy: string | Buffer,
    { anchored, calls, checked }: { anchored: boolean; calls: DiskCalls; checked: boolean },
  ): Promise<AnchoredFolder> {
    const fd = await calls.open(reachedBy, constants.O_RDONLY | constants.O_DIRECTORY | CAREFULLY);
    const folder = new AnchoredFolder(path, fd, anchored, calls);
    try {
      if (checked) await folder.check();
    } catch (error) {
      folder.close();
      throw error;
    }
    return folder;
  }

  /** Fails when the folder is not at its path any more: renamed, removed, or hidden by another one. */
  async check(): Promise<void> {
    if (!(await onDisk(this.path, () => isAt(this.#fd, this.path, this.#anchored)))) {
      throw new FileRefused('changed', `${this.path} leads elsewhere or was removed`);
    }
  }

  async openFolder(name: string): Promise<AnchoredFolder> {
    const path = this.pathOf(name);
    const anchored = this.#anchored;
    const calls = this.#calls;
    return onDisk(path, () => AnchoredFolder.#opened(path, this.#at(name), { anchored, calls, checked: !anchored }));
  }

  /** Opens a folder, making it when it is missing; two may make it at once. */
  async makeFolder(name: string, permissions: number): Promise<{ folder: AnchoredFolder; made: boolean }> {
    const path = this.pathOf(name);
    let made = true;
    try {
      await this.#calls.mkdir(this.#at(name), permissions);
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw diskFailure(error, path);
      made = false;
    }
    const folder = await this.openFolder(name);
    try {
      if (made) await onDisk(path, () => setPermissions(this.#calls, folder.#fd, permissions));
    } catch (error) {
      folder.close();
      throw error;
    }
    return { folder, made };
  }

  /** Opens a file for reading, or makes one that must not be there yet. Gives its descriptor, to be closed. */
  async openFile(name: string, as: 'readable' | { newWith: number }): Promise<number> {
    const path = this.pathOf(name);
    const calls = this.#calls;
    return onDisk(path, async () => {
      if (as === 'readable') return calls.open(this.#at(name), constants.O_RDONLY | CAREFULLY);
      const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | CAREFULLY;
      const fd = await calls.open(this.#at(name), flags, as.newWith);
      try {
        await setPermissions(calls, fd, as.newWith);
      } catch (error) {
        await calls.close(fd);
        throw error;
      }
      return fd;
    });
  }

  async rename(name: string, to: string, folder: AnchoredFolder = this): Promise<void> {
    await onDisk(this.pathOf(name), () => this.#calls.rename(this.#at(name), folder.#at(to)));
  }

  /** Removes an entry that is no folder. */
  async unlink(name: string): Promise<void> {
    await this.#calls.unlink(this.#at(name));
  }

  /** Removes an empty folder. */
  async rmdir(name: string): Promise<void> {
    await this.#calls.rmdir(this.#at(name));
  }

  /** Of an entry, of a link itself; undefined when there is none. */
  async stats(name: string): Promise<Stats | undefined> {
    try {
      return await this.#calls.lstat(this.#at(name));
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return undefined;
      throw diskFailure(error, this.pathOf(name));
    }
  }

  /** Of the folder itself. */
  async ownStats(): Promise<Stats> {
    return onDisk(this.path, () => this.#calls.stat(this.#fd));
  }

  async *entries(): AsyncIterable<Dirent> {
    try {
      const link = this.#anchored ? `/proc/self/fd/${this.#fd}` : this.path;
      yield* this.#calls.entries(link);
    } catch (error) {
      throw diskFailure(error, this.path);
    }
  }

  /** Makes what was made, renamed or removed in it survive a crash of the machine. */
  async sync(): Promise<void> {
    await onDisk(this.path, () => sync(this.#fd));
  }

  /** For messages. */
  pathOf(name: string): string {
    return join(this.path, utf8(name));
  }

  close(): void {
    if (this.#fd === -1) return;
    closeSync(this.#fd);
    this.#fd = -1;
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #at(name: string): Buffer {
    if (!isComponent(name)) throw new FileRefused('outside', `${JSON.stringify(name)} is no name of an entry`);
    const folder = this.#anchored ? `/proc/self/fd/${this.#fd}` : this.path;
    return Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(name, 'latin1')]);
  }
}

/** Makes what was made, renamed or removed in folders survive a crash of the machine. */
export async function syncFolders(paths: readonly string[], anchored: boolean, calls?: DiskCalls): Promise<void> {
  const syncs = paths.map(async (path) => {
    using folder = await AnchoredFolder.open(path, anchored, calls);
    await folder.sync();
  });
  await Promise.all(syncs);
}

/** A name as AnchoredFolder takes it. */
export const rawName = (name: string): string => Buffer.from(name).toString('latin1');

/** A name as AnchoredFolder gives it; bytes that are no UTF-8 become U+FFFD. */
export const utf8 = (rawName: string): string => Buffer.from(rawName, 'latin1').toString();

/** Whether an open file or folder is the one at this real path, with no link on the way. */
export async function isAt(fd: number, path: string, anchored: boolean): Promise<boolean> {
  if (anchored) return readlinkSync(`/proc/self/fd/${fd}`) === path;
  const [real, there, opened] = await Promise.all([realpath(path), stat(path), patient.stat(fd)]);
  return real === path && there.ino === opened.ino && there.dev === opened.dev;
}

/**
 * Whatever the umask is, which cannot be changed for one file only. Bits beyond permissions stay: the group of a
 * volume comes down to new folders by their set-group-id bit.
 */
async function setPermissions(calls: DiskCalls, fd: number, permissions: number): Promise<void> {
  const { mode } = await calls.stat(fd);
  if ((mode & PERMISSIONS) === permissions) return;
  try {
    await calls.chmod(fd, (mode & 0o7000) | permissions);
  } catch (error) {
    if (!FIXED_PERMISSIONS.has(errorCode(error))) throw error;
  }
}
