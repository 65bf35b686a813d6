import { constants } from 'node:fs';
import { type FileHandle, lstat, open } from 'node:fs/promises';
import { CAREFULLY, isAt } from './anchored-folder.ts';
import { onDisk } from './disk-failure.ts';
import { FileRefused, type OpenedFile } from './places.ts';

/** A file up to this size is read at once. */
const SMALL_BYTES = 256 * 1024;
/** Of larger ones: larger chunks are no faster, and what waits for the garbage collector grows with them. */
const CHUNK_BYTES = 64 * 1024;

/** A file may be replaced by another whole one while it is opened; one of them is opened in the end. */
const ATTEMPTS = 5;

/** A regular file at a real path, open for reading. */
export class DiskFile implements OpenedFile {
  readonly path: string;
  readonly size: number;
  readonly modifiedAt: number;
  readonly #handle: FileHandle;

  private constructor(handle: FileHandle, file: { path: string; size: number; modifiedAt: number }) {
    this.#handle = handle;
    this.path = file.path;
    this.size = file.size;
    this.modifiedAt = file.modifiedAt;
  }

  /**
   * Everything is checked on what was opened, so it does not matter what is put in its place before or after. A second
   * name (hard link) would show a file of somebody else under a path of ours.
   */
  static async open(path: string, anchored: boolean): Promise<DiskFile> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const file = await onDisk(path, () => DiskFile.#opened(path, anchored));
      if (file !== undefined) return file;
    }
    throw new FileRefused('linked', `${path} leads elsewhere`);
  }

  /** Undefined: what was opened is not at the path, because a link led there, or not any more. */
  static async #opened(path: string, anchored: boolean): Promise<DiskFile | undefined> {
    // Opening a device may already do something. What takes the file's place after this look is refused below.
    const named = await lstat(path);
    if (named.isSymbolicLink()) throw new FileRefused('linked', `${path} is a link`);
    if (!named.isFile()) throw new FileRefused('not_a_file', `${path} is no regular file`);
    const handle = await open(path, constants.O_RDONLY | CAREFULLY);
    let file: DiskFile | undefined;
    try {
      const stats = await handle.stat();
      if (!stats.isFile()) throw new FileRefused('not_a_file', `${path} is no regular file`);
      if (stats.nlink > 1) throw new FileRefused('linked', `${path} has ${stats.nlink} names`);
      if (stats.nlink === 1 && (await isAt(handle.fd, path, anchored))) {
        file = new DiskFile(handle, { path, size: stats.size, modifiedAt: stats.mtimeMs });
      }
    } finally {
      if (file === undefined) await handle.close();
    }
    return file;
  }

  async *read({
    start = 0,
    end = this.size - 1,
    signal,
  }: Parameters<OpenedFile['read']>[0] = {}): AsyncGenerator<Buffer> {
    const stop = Math.min(end + 1, this.size);
    const most = stop - start <= SMALL_BYTES ? SMALL_BYTES : CHUNK_BYTES;
    for (let position = start; position < stop;) {
      signal?.throwIfAborted();
      // A new one each time: whoever takes the chunk may keep it.
      const buffer = Buffer.allocUnsafeSlow(Math.min(most, stop - position));
      const { bytesRead } = await onDisk(this.path, () => this.#handle.read(buffer, 0, buffer.length, position));
      if (bytesRead === 0) throw new FileRefused('changed', `${this.path} has become shorter`);
      position += bytesRead;
      yield bytesRead === buffer.length ? buffer : buffer.subarray(0, bytesRead);
    }
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
