import { constants, type Dirent, type Stats } from 'node:fs';
import {
  type FileHandle,
  lstat,
  mkdir,
  open,
  opendir,
  readlink,
  realpath,
  rename,
  rmdir,
  stat,
  unlink,
} from 'node:fs/promises';
import { join } from 'node:path';
import { diskFailure, errorCode, onDisk } from './disk-failure.ts';
import { isComponent } from './paths.ts';
import { FileRefused } from './places.ts';

/** A link is never followed, a FIFO or device never waited for, a terminal never taken. Node adds O_CLOEXEC. */
export const CAREFULLY = constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;
const PERMISSIONS = 0o777;
/** Systems of files with fixed permissions (CIFS, some CSI drivers) refuse to change them. */
const FIXED_PERMISSIONS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP']);
const ENTRIES_AT_A_TIME = 128;

/**
 * An open folder whose entries are reached through its descriptor: whoever renames a folder above it, or puts a link
 * there, cannot lead us elsewhere. Linux has paths for that, /proc/self/fd/N/name; on other systems (`anchored` false)
 * the real path is compared around each step, which leaves a narrow gap.
 *
 * Names of entries are bytes, one character each (latin1), because an upstream may choose names that are no UTF-8.
 */
export class AnchoredFolder implements AsyncDisposable {
  /** Where it was when it was opened; real, without links. */
  readonly path: string;
  readonly #handle: FileHandle;
  readonly #anchored: boolean;

  private constructor(path: string, handle: FileHandle, anchored: boolean) {
    this.path = path;
    this.#handle = handle;
    this.#anchored = anchored;
  }

  /** Opens the folder at a real path; one that a link leads to is refused. */
  static async open(path: string, anchored: boolean): Promise<AnchoredFolder> {
    return onDisk(path, () => AnchoredFolder.#opened(path, path, { anchored, checked: true }));
  }

  static async #opened(
    path: string,
    reachedBy: string | Buffer,
    { anchored, checked }: { anchored: boolean; checked: boolean },
  ): Promise<AnchoredFolder> {
    const handle = await open(reachedBy, constants.O_RDONLY | constants.O_DIRECTORY | CAREFULLY);
    const folder = new AnchoredFolder(path, handle, anchored);
    try {
      if (checked) await folder.check();
    } catch (error) {
      await folder.close();
      throw error;
    }
    return folder;
  }

  /** Fails when the folder is not at its path any more: renamed, removed, or hidden by another one. */
  async check(): Promise<void> {
    if (!(await onDisk(this.path, () => isAt(this.#handle, this.path, this.#anchored)))) {
      throw new FileRefused('changed', `${this.path} leads elsewhere or was removed`);
    }
  }

  async openFolder(name: string): Promise<AnchoredFolder> {
    const path = this.pathOf(name);
    const anchored = this.#anchored;
    return onDisk(path, () => AnchoredFolder.#opened(path, this.#at(name), { anchored, checked: !anchored }));
  }

  /** Opens a folder, making it when it is missing; two may make it at once. */
  async makeFolder(name: string, permissions: number): Promise<{ folder: AnchoredFolder; made: boolean }> {
    const path = this.pathOf(name);
    let made = true;
    try {
      await mkdir(this.#at(name), permissions);
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw diskFailure(error, path);
      made = false;
    }
    const folder = await this.openFolder(name);
    try {
      if (made) await onDisk(path, () => setPermissions(folder.#handle, permissions));
    } catch (error) {
      await folder.close();
      throw error;
    }
    return { folder, made };
  }

  /** Opens a file for reading, or makes one that must not be there yet. */
  async openFile(name: string, as: 'readable' | { newWith: number }): Promise<FileHandle> {
    const path = this.pathOf(name);
    return onDisk(path, async () => {
      if (as === 'readable') return open(this.#at(name), constants.O_RDONLY | CAREFULLY);
      const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | CAREFULLY;
      const handle = await open(this.#at(name), flags, as.newWith);
      try {
        await setPermissions(handle, as.newWith);
      } catch (error) {
        await handle.close();
        throw error;
      }
      return handle;
    });
  }

  async rename(name: string, to: string, folder: AnchoredFolder = this): Promise<void> {
    await onDisk(this.pathOf(name), () => rename(this.#at(name), folder.#at(to)));
  }

  /** Removes an entry that is no folder. */
  async unlink(name: string): Promise<void> {
    await unlink(this.#at(name));
  }

  /** Removes an empty folder. */
  async rmdir(name: string): Promise<void> {
    await rmdir(this.#at(name));
  }

  /** Of an entry, of a link itself; undefined when there is none. */
  async stats(name: string): Promise<Stats | undefined> {
    try {
      return await lstat(this.#at(name));
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return undefined;
      throw diskFailure(error, this.pathOf(name));
    }
  }

  /** Of the folder itself. */
  async ownStats(): Promise<Stats> {
    return onDisk(this.path, () => this.#handle.stat());
  }

  async *entries(): AsyncIterable<Dirent> {
    try {
      const link = this.#anchored ? `/proc/self/fd/${this.#handle.fd}` : this.path;
      yield* await opendir(link, { encoding: 'latin1', bufferSize: ENTRIES_AT_A_TIME });
    } catch (error) {
      throw diskFailure(error, this.path);
    }
  }

  /** Makes what was made, renamed or removed in it survive a crash of the machine. */
  async sync(): Promise<void> {
    await onDisk(this.path, () => this.#handle.sync());
  }

  /** For messages. */
  pathOf(name: string): string {
    return join(this.path, utf8(name));
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #at(name: string): Buffer {
    if (!isComponent(name)) throw new FileRefused('outside', `${JSON.stringify(name)} is no name of an entry`);
    const folder = this.#anchored ? `/proc/self/fd/${this.#handle.fd}` : this.path;
    return Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(name, 'latin1')]);
  }
}

/** A name as AnchoredFolder takes it. */
export const rawName = (name: string): string => Buffer.from(name).toString('latin1');

/** A name as AnchoredFolder gives it; bytes that are no UTF-8 become U+FFFD. */
export const utf8 = (rawName: string): string => Buffer.from(rawName, 'latin1').toString();

/** Whether an open file or folder is the one at this real path, with no link on the way. */
export async function isAt(handle: FileHandle, path: string, anchored: boolean): Promise<boolean> {
  if (anchored) return (await readlink(`/proc/self/fd/${handle.fd}`)) === path;
  const [real, there, opened] = await Promise.all([realpath(path), stat(path), handle.stat()]);
  return real === path && there.ino === opened.ino && there.dev === opened.dev;
}

/**
 * Whatever the umask is, which cannot be changed for one file only. Bits beyond permissions stay: the group of a
 * volume comes down to new folders by their set-group-id bit.
 */
async function setPermissions(handle: FileHandle, permissions: number): Promise<void> {
  const { mode } = await handle.stat();
  if ((mode & PERMISSIONS) === permissions) return;
  try {
    await handle.chmod((mode & 0o7000) | permissions);
  } catch (error) {
    if (!FIXED_PERMISSIONS.has(errorCode(error))) throw error;
  }
}
