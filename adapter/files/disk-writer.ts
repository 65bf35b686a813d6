import { randomBytes } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { AnchoredFolder, syncFolders } from './anchored-folder.ts';
import { removeEntry } from './anchored-removal.ts';
import { onDisk } from './disk-failure.ts';
import type { FileWriter } from './places.ts';

export interface DiskWriterOptions {
  readonly permissions: number;
  /** `storage.atomic_writes`. */
  readonly atomic: boolean;
  /** Folders above the item's own that must survive a crash of the machine with it. */
  readonly above: readonly string[];
  readonly anchored: boolean;
}

/** Writes one file of an item's folder. The folder is open all the time, so the file cannot end up elsewhere. */
export class DiskWriter implements FileWriter {
  readonly #folder: AnchoredFolder;
  readonly #name: string;
  /** What the file is called now. */
  #written: string;
  readonly #handle: FileHandle;
  readonly #options: DiskWriterOptions;
  #position = 0;
  #state: 'writing' | 'finished' | 'aborted' = 'writing';

  private constructor(
    file: { folder: AnchoredFolder; name: string; temporary: string; handle: FileHandle },
    options: DiskWriterOptions,
  ) {
    this.#folder = file.folder;
    this.#name = file.name;
    this.#written = file.temporary;
    this.#handle = file.handle;
    this.#options = options;
  }

  /** Takes the folder over and closes it in the end. A file of this name is replaced. */
  static async create(folder: AnchoredFolder, name: string, options: DiskWriterOptions): Promise<DiskWriter> {
    const temporary = options.atomic ? `.${name}.${randomBytes(8).toString('hex')}.tmp` : name;
    try {
      if (!options.atomic) await removeEntry(folder, name);
      const handle = await folder.openFile(temporary, { newWith: options.permissions });
      return new DiskWriter({ folder, name, temporary, handle }, options);
    } catch (error) {
      folder.close();
      throw error;
    }
  }

  async write(chunk: Uint8Array): Promise<void> {
    await onDisk(this.#path, async () => {
      for (let offset = 0; offset < chunk.length;) {
        const { bytesWritten } = await this.#handle.write(chunk, offset, chunk.length - offset, this.#position);
        offset += bytesWritten;
        this.#position += bytesWritten;
      }
    });
  }

  async finish(): Promise<void> {
    if (this.#state !== 'writing') throw new Error(`${this.#path} is ${this.#state}`);
    const { atomic, above, anchored } = this.#options;
    // The bytes first: after a crash of the machine the name must not show an empty file.
    if (atomic) await onDisk(this.#path, () => this.#handle.sync());
    await onDisk(this.#path, () => this.#handle.close());
    if (atomic) {
      await this.#folder.rename(this.#written, this.#name);
      this.#written = this.#name;
      await this.#folder.sync();
      await syncFolders(above, anchored);
    }
    // The folder may have been moved away or removed, and the file with it.
    await this.#folder.check();
    this.#state = 'finished';
    this.#folder.close();
  }

  async abort(): Promise<void> {
    if (this.#state !== 'writing') return;
    this.#state = 'aborted';
    await Promise.allSettled([this.#handle.close(), removeEntry(this.#folder, this.#written)]);
    this.#folder.close();
    await this.#removeEmptyFolder();
  }

  /** Quietly: what a tool has put there, or that somebody else was faster, is no failure of ours. */
  async #removeEmptyFolder(): Promise<void> {
    const { path } = this.#folder;
    try {
      using parent = await AnchoredFolder.open(dirname(path), this.#options.anchored);
      await parent.rmdir(basename(path));
    } catch {}
  }

  get #path(): string {
    return this.#folder.pathOf(this.#name);
  }
}
