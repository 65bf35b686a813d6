import { constants, fsync, type Stats } from 'node:fs';
import { promisify } from 'node:util';
import { CAREFULLY, isAt } from './anchored-folder.ts';
import { type DiskCalls, patient } from './disk-calls.ts';
import { onDisk } from './disk-failure.ts';
import { FileRefused, type FileVersion, type OpenedFile, StorageFault } from '../keys/file-key.ts';

/** A file up to this size is read at once. */
const SMALL_BYTES = 256 * 1024;
/** Of larger ones: larger chunks are no faster, and what waits for the garbage collector grows with them. */
const CHUNK_BYTES = 64 * 1024;

/** A file may be replaced by another whole one while it is opened; one of them is opened in the end. */
const ATTEMPTS = 5;

const sync = promisify(fsync);

/** Not of a pool: whoever takes it may keep it. */
const bufferOf = (most: number, left: number): Buffer => Buffer.allocUnsafeSlow(Math.max(Math.min(most, left), 0));

/** See `FileVersion`. */
export const versionId = ({ dev, ino, size, mtimeMs, ctimeMs }: Stats): string =>
  [dev, ino, size, mtimeMs, ctimeMs].join(' ');

/** A regular file at a real path, open for reading. */
export class DiskFile implements OpenedFile {
  readonly path: string;
  readonly size: number;
  readonly modifiedAt: number;
  readonly version: FileVersion;
  /** -1 when it is closed. */
  #fd: number;
  readonly #calls: DiskCalls;
  readonly #steps = new Set<Promise<unknown>>();

  private constructor(fd: number, calls: DiskCalls, path: string, stats: Stats) {
    this.#fd = fd;
    this.#calls = calls;
    this.path = path;
    this.size = stats.size;
    this.modifiedAt = stats.mtimeMs;
    this.version = { id: versionId(stats), changedAt: stats.ctimeMs };
  }

  /**
   * Everything is checked on what was opened, so it does not matter what is put in its place before or after. A second
   * name (hard link) would show a file of somebody else under a path of ours.
   */
  static async open(path: string, anchored: boolean, calls: DiskCalls = patient): Promise<DiskFile> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const file = await onDisk(path, () => DiskFile.#opened(path, anchored, calls));
      if (file !== undefined) return file;
    }
    throw new FileRefused('linked', `${path} leads elsewhere`);
  }

  /** Undefined: what was opened is not at the path, because a link led there, or not any more. */
  static async #opened(path: string, anchored: boolean, calls: DiskCalls): Promise<DiskFile | undefined> {
    // Opening a device may already do something. What takes the file's place after this look is refused below.
    const named = await calls.lstat(path);
    if (named.isSymbolicLink()) throw new FileRefused('linked', `${path} is a link`);
    if (!named.isFile()) throw new FileRefused('not_a_file', `${path} is no regular file`);
    const fd = await calls.open(path, constants.O_RDONLY | CAREFULLY);
    let file: DiskFile | undefined;
    try {
      const stats = await calls.stat(fd);
      if (!stats.isFile()) throw new FileRefused('not_a_file', `${path} is no regular file`);
      if (stats.nlink > 1) throw new FileRefused('linked', `${path} has ${stats.nlink} names`);
      if (stats.nlink === 1 && (await isAt(fd, path, anchored))) {
        file = new DiskFile(fd, calls, path, stats);
      }
    } finally {
      if (file === undefined) await calls.close(fd);
    }
    return file;
  }

  async *read({
    start = 0,
    end = this.size - 1,
    reused = false,
    signal,
  }: Parameters<OpenedFile['read']>[0] = {}): AsyncGenerator<Buffer> {
    const stop = Math.min(end + 1, this.size);
    const most = reused || stop - start <= SMALL_BYTES ? SMALL_BYTES : CHUNK_BYTES;
    let current = bufferOf(most, stop - start);
    let other: Buffer | undefined;
    let next: Promise<Buffer> | undefined;
    for (let position = start; position < stop;) {
      signal?.throwIfAborted();
      const part = await (next ?? this.#part(current, position));
      position += part.length;
      const left = stop - position;
      if (left > 0 && !reused) current = bufferOf(most, left);
      else if (left > 0) {
        [current, other] = [other ?? bufferOf(most, left), current];
        // While this part is worked on.
        next = this.#part(current.subarray(0, left), position);
        next.catch(() => undefined);
      }
      yield part;
    }
  }

  async #part(buffer: Buffer, position: number): Promise<Buffer> {
    const bytesRead = await this.#step((fd) => this.#calls.read(fd, buffer, position));
    if (bytesRead === 0) throw new FileRefused('changed', `${this.path} has become shorter`);
    return bytesRead === buffer.length ? buffer : buffer.subarray(0, bytesRead);
  }

  async sync(): Promise<void> {
    await this.#step((fd) => sync(fd));
  }

  async close(): Promise<void> {
    const fd = this.#fd;
    if (fd === -1) return;
    this.#fd = -1;
    await Promise.allSettled(this.#steps);
    await this.#calls.close(fd);
  }

  /** The descriptor stays open meanwhile: its number may mean another file after that. */
  async #step<T>(work: (fd: number) => Promise<T>): Promise<T> {
    if (this.#fd === -1) throw new StorageFault('EBADF', `${this.path} is closed`);
    const step = onDisk(this.path, () => work(this.#fd));
    this.#steps.add(step);
    try {
      return await step;
    } finally {
      this.#steps.delete(step);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
