import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { join } from 'node:path';

import { errorCode, onDisk } from './disk-failure.ts';

const CHUNK_BYTES = 64 << 10;
/** Linux, open(2). */
const O_TMPFILE = 0o20000000 | constants.O_DIRECTORY;
/** Of file systems, such as NFS, and of systems that have no files without a name. */
const NAMELESS_REFUSED = new Set(['EOPNOTSUPP', 'EISDIR', 'EINVAL', 'ENOENT']);

/**
 * Bytes on a disk that nobody else can open, because they have no name: when it is closed, or the process ends, they are
 * gone. Calls to `write` must not overlap.
 */
export class ScratchFile implements AsyncDisposable {
  readonly #folder: string;
  readonly #handle: FileHandle;
  #size = 0;

  private constructor(folder: string, handle: FileHandle) {
    this.#folder = folder;
    this.#handle = handle;
  }

  /** Fails with StorageFault. */
  static async open(folder: string): Promise<ScratchFile> {
    return new ScratchFile(folder, await onDisk(folder, () => nameless(folder)));
  }

  /** Bytes that were written whole. */
  get size(): number {
    return this.#size;
  }

  /** Fails with StorageFault; then nothing of it counts as written. */
  async write(bytes: Uint8Array): Promise<void> {
    await onDisk(this.#folder, async () => {
      for (let at = 0; at < bytes.length;) {
        // oxlint-disable-next-line no-await-in-loop -- a disk that is nearly full takes less than it is given
        const { bytesWritten } = await this.#handle.write(bytes, at, bytes.length - at, this.#size + at);
        at += bytesWritten;
      }
    });
    this.#size += bytes.length;
  }

  /** The bytes from `start` up to `end`, without that. */
  async *read(start = 0, end = this.#size): AsyncGenerator<Buffer> {
    for (let at = start; at < end;) {
      const buffer = Buffer.allocUnsafeSlow(Math.min(CHUNK_BYTES, end - at));
      const position = at;
      const { bytesRead } = await onDisk(this.#folder, () => this.#handle.read(buffer, 0, buffer.length, position));
      if (bytesRead === 0) throw new Error('a scratch file has become shorter');
      at += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle.close();
  }
}

async function nameless(folder: string): Promise<FileHandle> {
  try {
    return await open(folder, O_TMPFILE | constants.O_RDWR, 0o600);
  } catch (error) {
    if (!NAMELESS_REFUSED.has(errorCode(error))) throw error;
  }
  const path = join(folder, `.scratch-${randomUUID()}`);
  const { O_RDWR, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
  const handle = await open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  await unlink(path);
  return handle;
}
