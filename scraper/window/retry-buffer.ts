import type { WindowResult } from './window-result.ts';

interface Kept {
  readonly source: string;
  readonly result: WindowResult;
  readonly release: () => void;
}

const MAX_WINDOWS = 200;
const MAX_BYTES = 32 * 1024 * 1024;
/** Of which nothing is kept but that they are counted. */
const MAX_COUNTED = 10_000;

/**
 * Windows whose export has failed, so that they need not be fetched again, and log records that have arrived are not sent
 * twice. When there are too many, or others need their memory, the oldest go; then they are fetched again. What stays known of these is that their
 * metrics are part of the sums already.
 */
export class RetryBuffer {
  readonly #kept = new Map<string, Kept>();
  /** The source of each window that is counted and not committed. */
  readonly #counted = new Map<string, string>();
  #bytes = 0;

  /** @param release called when it is let go without having been taken */
  keep(source: string, id: string, result: WindowResult, release: () => void): void {
    this.#kept.set(key(source, id), { source, result, release });
    this.#bytes += result.held;
    result.memory?.rest(() => this.drop(source, id));
    while (this.#kept.size > MAX_WINDOWS || this.#bytes > MAX_BYTES) {
      const [oldest] = this.#kept.keys();
      if (oldest === undefined) return;
      this.#letGo(oldest);
    }
  }

  take(source: string, id: string): WindowResult | undefined {
    const kept = this.#kept.get(key(source, id));
    if (kept === undefined) return undefined;
    this.#kept.delete(key(source, id));
    this.#bytes -= kept.result.held;
    kept.result.memory?.wake();
    return kept.result;
  }

  has(source: string, id: string): boolean {
    return this.#kept.has(key(source, id));
  }

  drop(source: string, id: string): void {
    this.#letGo(key(source, id));
  }

  /** Its metrics are part of the sums, and must not be added again however often it is fetched. */
  noteCounted(source: string, id: string): void {
    this.#counted.set(key(source, id), source);
    const [oldest] = this.#counted.keys();
    if (oldest !== undefined && this.#counted.size > MAX_COUNTED) this.#counted.delete(oldest);
  }

  isCounted(source: string, id: string): boolean {
    return this.#counted.has(key(source, id));
  }

  committed(source: string, id: string): void {
    this.#counted.delete(key(source, id));
  }

  /** What was made with a configuration that has changed. */
  forget(source: string): void {
    for (const [key, kept] of this.#kept) if (kept.source === source) this.#letGo(key);
  }

  /** The sums of the source begin anew, or go on in another pod. */
  forgetSums(source: string): void {
    for (const [key, of] of this.#counted) if (of === source) this.#counted.delete(key);
  }

  #letGo(key: string): void {
    const kept = this.#kept.get(key);
    if (kept === undefined) return;
    this.#kept.delete(key);
    this.#bytes -= kept.result.held;
    kept.release();
  }
}

const key = (source: string, id: string): string => JSON.stringify([source, id]);
