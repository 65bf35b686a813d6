import { createHash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { NotPrivate, privateFolder, tightenDatabase } from '../../../lib/files/private-files.ts';
import { fileIdentity } from '../../state/sqlite/sqlite-database.ts';
import { StorageFault } from '../keys/file-key.ts';
import type { PolledLock, TakenLock } from './polled-lock.ts';

/** Locks are held for a moment only, so names of two processes that share a file by chance hardly ever meet. */
const FILES = 128;
// Primary result code, https://www.sqlite.org/rescode.html
const SQLITE_BUSY = 5;

/**
 * `lock_mode: file`: one holder on this host (and wherever POSIX locks reach, which is across hosts on NFS). The lock
 * is the kernel's, which frees it when the holder dies. Node has no call for it, but SQLite has: the exclusive
 * transaction of an empty database file, which writes nothing.
 *
 * The files stay, and stay open: making, opening and removing one for each lock costs more than all else. A name always
 * means the same file. Within this process, names of one file do not wait for each other: the first takes the file and
 * the last gives it back; that each name has one holder is the work of the queue in front. The calls are synchronous
 * and take some microseconds; none of them waits for another process.
 */
export class FileLock implements PolledLock {
  readonly #folder: string;
  readonly #files = new Map<string, LockFile>();

  /** `folder`: one in the folder of the state. Throws NotPrivate where others could take the locks. */
  constructor(folder: string) {
    this.#folder = folder;
    try {
      makeFolders(folder);
    } catch (error) {
      if (error instanceof NotPrivate) throw error;
      // Tried again, and told, when a lock is wanted.
    }
  }

  async take(name: string): Promise<TakenLock | undefined> {
    const path = join(this.#folder, `${createHash('sha256').update(name).digest().readUInt32BE() % FILES}.lock`);
    try {
      const file = this.#file(path);
      if (!file.take()) return undefined;
      return {
        held: { signal: new AbortController().signal, guard: undefined },
        release: async () => file.release(),
      };
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new StorageFault('ENOLCK', `the lock file ${path} cannot be used: ${reason}`, { cause: error });
    }
  }

  close(): void {
    for (const file of this.#files.values()) file.close();
    this.#files.clear();
  }

  #file(path: string): LockFile {
    const known = this.#files.get(path);
    if (known !== undefined && known.isAtItsPath()) return known;
    // The first time, or the folder was removed: others would lock another file.
    known?.close();
    this.#files.delete(path);
    makeFolders(this.#folder);
    tightenDatabase(path);
    const file = new LockFile(path);
    this.#files.set(path, file);
    return file;
  }
}

function makeFolders(folder: string): void {
  privateFolder(dirname(folder));
  // In there nobody else can put anything in its place.
  mkdirSync(folder, { recursive: true, mode: 0o700 });
}

class LockFile {
  readonly #path: string;
  readonly #database: DatabaseSync;
  readonly #identity: string | undefined;
  #begin: StatementSync | undefined;
  #rollback: StatementSync | undefined;
  #holders = 0;
  #closed = false;

  constructor(path: string) {
    this.#path = path;
    this.#database = new DatabaseSync(path);
    this.#identity = fileIdentity(path);
  }

  isAtItsPath(): boolean {
    return this.#identity !== undefined && fileIdentity(this.#path) === this.#identity;
  }

  /** False: another process has it. */
  take(): boolean {
    if (this.#holders === 0 && !this.#lock()) return false;
    this.#holders += 1;
    return true;
  }

  release(): void {
    this.#holders -= 1;
    if (this.#holders > 0) return;
    if (this.#closed) this.#database.close();
    else this.#rollback?.run();
  }

  /** When nobody of this process holds it any more. */
  close(): void {
    this.#closed = true;
    if (this.#holders === 0) this.#database.close();
  }

  #lock(): boolean {
    try {
      if (this.#begin === undefined) {
        // Nothing is written, so there is nothing to roll back after a crash, and no file for it.
        this.#database.exec('PRAGMA journal_mode = MEMORY');
        this.#rollback = this.#database.prepare('ROLLBACK');
        this.#begin = this.#database.prepare('BEGIN EXCLUSIVE');
      }
      this.#begin.run();
      return true;
    } catch (error) {
      if (isBusy(error)) return false;
      throw error;
    }
  }
}

const isBusy = (error: unknown): boolean =>
  error instanceof Error &&
  'errcode' in error &&
  typeof error.errcode === 'number' &&
  (error.errcode & 0xff) === SQLITE_BUSY;
