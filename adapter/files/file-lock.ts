import { createHash } from 'node:crypto';
import { mkdirSync, unlinkSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { fileIdentity } from '../state/sqlite-database.ts';
import { StorageFault } from './places.ts';
import type { PolledLock, TakenLock } from './polled-lock.ts';

const SUFFIX = '.lock';
const GATE = 'gate';
// Primary result codes, https://www.sqlite.org/rescode.html
const SQLITE_BUSY = 5;
/** The gate is closed for less than a millisecond at a time. */
const GATE_ATTEMPTS = 50;
const GATE_PAUSE_MS = 2;

/**
 * `lock_mode: file`: one holder on this host (and wherever POSIX locks reach, which is across hosts on NFS). The lock
 * is the kernel's, which frees it when the holder dies. Node has no call for it, but SQLite has: the exclusive
 * transaction of an empty database file, which writes nothing.
 *
 * Each name has a file of its own, so that no two of them get into each other's way, and it is removed with the lock.
 * A file must not be removed between another's opening and locking it, or two would hold two files of one name; so
 * both happen behind a gate, which is a lock of the same kind whose file stays. The calls are synchronous and take
 * some microseconds; none of them waits for another process.
 */
export class FileLock implements PolledLock {
  readonly #folder: string;
  #gate: DatabaseSync | undefined;
  #gateIdentity: string | undefined;
  #swept = false;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async take(name: string): Promise<TakenLock | undefined> {
    if (!this.#swept) void this.#sweep();
    const lock = this.#lock(`${createHash('sha256').update(name).digest('hex').slice(0, 32)}${SUFFIX}`);
    if (lock === undefined) return undefined;
    return {
      held: { signal: new AbortController().signal, guard: undefined },
      release: () => this.#release(lock),
    };
  }

  close(): void {
    this.#gate?.close();
    this.#gate = undefined;
    this.#gateIdentity = undefined;
  }

  /** Undefined: somebody else has it, or the gate. */
  #lock(file: string): LockedFile | undefined {
    const path = join(this.#folder, file);
    try {
      return this.#throughGate(() => lockFile(path));
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new StorageFault('ENOLCK', `the lock file ${path} cannot be used: ${reason}`, { cause: error });
    }
  }

  async #release(lock: LockedFile): Promise<void> {
    for (let attempt = 1; attempt < GATE_ATTEMPTS; attempt++) {
      try {
        if (this.#throughGate(() => remove(lock)) === true) return;
      } catch {
        break;
      }
      await delay(GATE_PAUSE_MS);
    }
    // The file stays until somebody asks for the name again, or until the next start.
    lock.database.close();
  }

  /** Removes the files of holders that died. */
  async #sweep(): Promise<void> {
    this.#swept = true;
    try {
      for (const file of await readdir(this.#folder)) {
        // Most are of holders that have given their lock back meanwhile.
        if (!file.endsWith(SUFFIX) || fileIdentity(join(this.#folder, file)) === undefined) continue;
        const left = this.#lock(file);
        if (left !== undefined) await this.#release(left);
      }
    } catch {
      // The folder is not there yet, or cannot be used, which those who ask for a lock will be told.
    }
  }

  /** Undefined: another process is in the gate, or `work` says so. */
  #throughGate<T>(work: () => T): T | undefined {
    const gate = this.#openGate();
    if (!begin(gate)) return undefined;
    try {
      return work();
    } finally {
      gate.exec('ROLLBACK');
    }
  }

  #openGate(): DatabaseSync {
    const path = join(this.#folder, GATE);
    const identity = fileIdentity(path);
    if (this.#gate !== undefined && identity !== undefined && identity === this.#gateIdentity) return this.#gate;
    // The first time, or the folder was removed; others would open another gate.
    this.close();
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    this.#gate = new DatabaseSync(path);
    this.#gateIdentity = fileIdentity(path);
    return this.#gate;
  }
}

interface LockedFile {
  readonly path: string;
  readonly database: DatabaseSync;
}

function lockFile(path: string): LockedFile | undefined {
  const database = new DatabaseSync(path);
  try {
    if (begin(database)) return { path, database };
  } catch (error) {
    database.close();
    throw error;
  }
  database.close();
  return undefined;
}

function remove({ path, database }: LockedFile): true {
  unlinkSync(path);
  // Ends the transaction, and with it the lock.
  database.close();
  return true;
}

/** False: somebody else has the file. */
function begin(database: DatabaseSync): boolean {
  try {
    // Nothing is written, so there is nothing to roll back after a crash, and no file for it.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    return true;
  } catch (error) {
    if (resultCode(error) === SQLITE_BUSY) return false;
    throw error;
  }
}

/** The primary one. */
function resultCode(error: unknown): number {
  return error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' ? error.errcode & 0xff : 0;
}
