import { hash, randomUUID } from 'node:crypto';

import type { StateStore } from '../state/state-store.ts';
import type { KeptFiles } from './kept-files.ts';

type Store = Pick<StateStore, 'tryLock' | 'lockHolder' | 'now'>;

/** A file that is about to become an artifact, and which of the tool's files it is. */
export interface NotedFile {
  readonly fileId: string;
  /** It lay below this folder, which the tool was told to write to. */
  readonly below?: { readonly folder: string; readonly names: readonly string[] };
  /** The tool has named it itself. */
  readonly found?: { readonly name: string; readonly path: string };
}

/**
 * What is written down of a task's files, so that each is kept once: what is about to be kept, for whoever goes on after a replica
 * that has died, and what has become of them all, for whoever asks again. As with tasks themselves, each note is the holder of a lock.
 */
export class TaskJournal {
  readonly #store: Store;
  readonly #owner: string;
  /** By the store's clock, in milliseconds. */
  readonly #until: number;
  #count = 0;

  /** @param owner who the call is among all (see CallFiles) */
  constructor(store: Store, owner: string, until: number) {
    this.#store = store;
    this.#owner = owner;
    this.#until = until;
  }

  /** What somebody has noted before. */
  async notes(): Promise<NotedFile[]> {
    const notes: NotedFile[] = [];
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- until there is none; a call has few files
      const note = await this.#store.lockHolder(this.#name(`note ${notes.length}`));
      if (note === undefined) break;
      notes.push(JSON.parse(note) as NotedFile);
    }
    this.#count = notes.length;
    return notes;
  }

  /** Notes a file before it is kept. */
  async note(file: NotedFile): Promise<void> {
    const text = JSON.stringify(file);
    // Somebody who was thought dead may write too.
    // oxlint-disable-next-line no-await-in-loop -- until there is a place
    while (!(await this.#keep(`note ${this.#count}`, text))) this.#count += 1;
    this.#count += 1;
  }

  /** What has become of the task's files; undefined while that is open. */
  async outcome(): Promise<KeptFiles | undefined> {
    const text = await this.#store.lockHolder(this.#name('outcome'));
    return text === undefined ? undefined : (JSON.parse(text) as KeptFiles);
  }

  /** Settles that for good. False: somebody else had done so. */
  settle({ files, names, problems }: KeptFiles): Promise<boolean> {
    return this.#keep('outcome', JSON.stringify({ by: randomUUID(), files, names, problems }));
  }

  #keep(what: string, text: string): Promise<boolean> {
    return this.#store.tryLock(this.#name(what), text, Math.max(1_000, this.#until - this.#store.now()));
  }

  #name(what: string): string {
    return `task-files:${hash('sha256', `${this.#owner}\n${what}`, 'base64url')}`;
  }
}
