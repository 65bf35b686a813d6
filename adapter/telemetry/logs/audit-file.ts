import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';

export interface AuditFileOptions {
  readonly path: string;
  /** Lines are lost: the file could not be written for so long that no more can wait, or until the end. */
  readonly onLost: (lines: number) => void;
  /** Whenever the file cannot be opened or written. */
  readonly onTrouble: (error: unknown) => void;
  /** Characters of the lines that wait at most. Default: 4 Mi. */
  readonly maxWaiting?: number;
  /** Milliseconds between attempts. Default: 1 s. */
  readonly retryMs?: number;
}

const MAX_WAITING = 4 << 20;
const RETRY_MS = 1_000;
/** How long the last lines may take at the end. */
const CLOSE_MS = 2_000;
/** A link could lead elsewhere, and a pipe without a reader would never open. */
const FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * A file to which whole lines are appended. Nobody waits for it: lines that come while others are written go together,
 * and while the file cannot be written they wait, as many as there is room for.
 */
export class AuditFile {
  readonly #options: AuditFileOptions;
  readonly #maxWaiting: number;
  #waiting: string[] = [];
  #waitingChars = 0;
  /** What is being written, without what has been. */
  #pending: Buffer | undefined;
  #pendingLines = 0;
  #handle: FileHandle | undefined;
  /** The file is to be opened anew, also when there is nothing to write: then its troubles are known at once. */
  #isStale = true;
  #running: Promise<void> | undefined;
  #retry: NodeJS.Timeout | undefined;

  constructor(options: AuditFileOptions) {
    this.#options = options;
    this.#maxWaiting = options.maxWaiting ?? MAX_WAITING;
    this.#wake();
  }

  append(line: string): void {
    if (this.#waitingChars + line.length > this.#maxWaiting) return this.#options.onLost(1);
    this.#waiting.push(line);
    this.#waitingChars += line.length;
    this.#wake();
  }

  /** Goes on with a new file where the old one has been moved away. */
  reopen(): void {
    this.#isStale = true;
    this.#wake();
  }

  /** Writes what waits, if that can be done in a short time. */
  async close(): Promise<void> {
    clearTimeout(this.#retry);
    this.#retry = undefined;
    this.#wake();
    const limit = new AbortController();
    await Promise.race([this.#running, delay(CLOSE_MS, undefined, { signal: limit.signal }).catch(() => undefined)]);
    limit.abort();
    clearTimeout(this.#retry);
    const lost = this.#waiting.length + (this.#pending === undefined ? 0 : this.#pendingLines);
    if (lost > 0) this.#options.onLost(lost);
    this.#waiting = [];
    this.#waitingChars = this.#maxWaiting;
    void this.#letGo();
  }

  #wake(): void {
    if (this.#retry !== undefined || this.#running !== undefined) return;
    this.#running = this.#run()
      .catch(async (error: unknown) => {
        this.#options.onTrouble(error);
        await this.#letGo();
        this.#retry = setTimeout(() => {
          this.#retry = undefined;
          this.#wake();
        }, this.#options.retryMs ?? RETRY_MS).unref();
      })
      .finally(() => {
        this.#running = undefined;
        // Something may have come between the last look and now.
        if (this.#isStale || this.#waiting.length > 0) this.#wake();
      });
  }

  async #run(): Promise<void> {
    for (;;) {
      if (this.#isStale) {
        this.#isStale = false;
        await this.#letGo();
        this.#handle = await openForAppending(this.#options.path);
      }
      this.#handle ??= await openForAppending(this.#options.path);
      this.#pending ??= this.#take();
      if (this.#pending === undefined) return;
      while (this.#pending.length > 0) {
        const { bytesWritten } = await this.#handle.write(this.#pending);
        this.#pending = this.#pending.subarray(bytesWritten);
      }
      this.#pending = undefined;
    }
  }

  #take(): Buffer | undefined {
    if (this.#waiting.length === 0) return undefined;
    const all = Buffer.from(this.#waiting.join(''));
    this.#pendingLines = this.#waiting.length;
    this.#waiting = [];
    this.#waitingChars = 0;
    return all;
  }

  async #letGo(): Promise<void> {
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close().catch(() => undefined);
  }
}

async function openForAppending(path: string): Promise<FileHandle> {
  const handle = await open(path, FLAGS, 0o600);
  const isFile = await handle.stat().then((stat) => stat.isFile());
  if (isFile) return handle;
  await handle.close();
  throw new Error(`${path} is no file`);
}
