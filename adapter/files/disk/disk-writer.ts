import { randomBytes } from 'node:crypto';
import { fsync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { promisify } from 'node:util';
import { AnchoredFolder, syncFolders } from './anchored-folder.ts';
import { removeEntry } from './anchored-removal.ts';
import type { DiskCalls } from './disk-calls.ts';
import { onDisk } from './disk-failure.ts';
import type { ItemFolder } from './disk-folders.ts';
import type { FileWriter } from '../keys/file-key.ts';

export interface DiskWriterOptions {
  readonly permissions: number;
  /** `storage.atomic_writes`. */
  readonly atomic: boolean;
  readonly anchored: boolean;
  readonly calls: DiskCalls;
}

const sync = promisify(fsync);

/** Writes one file of an item's folder. The folder is open all the time, so the file cannot end up elsewhere. */
export class DiskWriter implements FileWriter {
  readonly #place: ItemFolder;
  readonly #name: string;
  /** What the file is called now. */
  #written: string;
  /** -1 when it is closed. */
  #fd: number;
  readonly #options: DiskWriterOptions;
  #position = 0;
  #state: 'writing' | 'finished' | 'aborted' = 'writing';

  private constructor(
    file: { place: ItemFolder; name: string; temporary: string; fd: number },
    options: DiskWriterOptions,
  ) {
    this.#place = file.place;
    this.#name = file.name;
    this.#written = file.temporary;
    this.#fd = file.fd;
    this.#options = options;
  }

  /** Takes the folders over and closes them in the end. A file of this name is replaced. */
  static async create(place: ItemFolder, name: string, options: DiskWriterOptions): Promise<DiskWriter> {
    const { folder } = place;
    const temporary = options.atomic ? `.${name}.${randomBytes(8).toString('hex')}.tmp` : name;
    try {
      if (!options.atomic) await removeEntry(folder, name);
      const fd = await folder.openFile(temporary, { newWith: options.permissions });
      return new DiskWriter({ place, name, temporary, fd }, options);
    } catch (error) {
      closeBoth(place);
      throw error;
    }
  }

  async write(chunk: Uint8Array): Promise<void> {
    await onDisk(this.#path, async () => {
      for (let offset = 0; offset < chunk.length;) {
        const bytesWritten = await this.#options.calls.write(this.#fd, chunk.subarray(offset), this.#position);
        offset += bytesWritten;
        this.#position += bytesWritten;
      }
    });
  }

  async finish(): Promise<void> {
    if (this.#state !== 'writing') throw new Error(`${this.#path} is ${this.#state}`);
    const { folder } = this.#place;
    // The bytes first: after a crash of the machine the name must not show an empty file.
    if (this.#options.atomic) await this.#syncBytes();
    await onDisk(this.#path, () => this.#close());
    if (this.#options.atomic) {
      await folder.rename(this.#written, this.#name);
      this.#written = this.#name;
      await folder.sync();
    }
    // The folder may have been moved away or removed, and the file with it.
    await folder.check();
    this.#state = 'finished';
    closeBoth(this.#place);
  }

  async abort(): Promise<void> {
    if (this.#state !== 'writing') return;
    this.#state = 'aborted';
    const { folder } = this.#place;
    await Promise.allSettled([this.#close(), removeEntry(folder, this.#written)]);
    closeBoth(this.#place);
    await this.#removeEmptyFolder();
  }

  /** And the folders above at once: file systems with a journal write it once for all of them. */
  async #syncBytes(): Promise<void> {
    const { session, above } = this.#place;
    const syncs = await Promise.allSettled([
      onDisk(this.#path, () => sync(this.#fd)),
      session.sync(),
      syncFolders(above, this.#options.anchored),
    ]);
    for (const one of syncs) if (one.status === 'rejected') throw one.reason;
  }

  async #close(): Promise<void> {
    const fd = this.#fd;
    this.#fd = -1;
    if (fd !== -1) await this.#options.calls.close(fd);
  }

  /** Quietly: what a tool has put there, or that somebody else was faster, is no failure of ours. */
  async #removeEmptyFolder(): Promise<void> {
    const { path } = this.#place.folder;
    try {
      using parent = await AnchoredFolder.open(dirname(path), this.#options.anchored);
      await parent.rmdir(basename(path));
    } catch {}
  }

  get #path(): string {
    return this.#place.folder.pathOf(this.#name);
  }
}

function closeBoth({ folder, session }: ItemFolder): void {
  folder.close();
  session.close();
}
