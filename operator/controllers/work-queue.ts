import { LONGEST_TIMER_MS } from '../../lib/timer-ms.ts';

export interface WorkQueueOptions {
  /**
   * Resolves with the milliseconds after which the key is due again by itself, or undefined when it is not. A rejection
   * is a failure, which the work has reported itself: the key is due again after its backoff.
   */
  readonly work: (key: string) => Promise<number | undefined>;
  /** Keys at work at a time. Default: 4. */
  readonly concurrency?: number;
  /** Runs per second of all keys together, on average. Default: 100, and `burst` (200) at once. */
  readonly ratePerSecond?: number;
  readonly burst?: number;
  readonly now?: () => number;
  readonly random?: () => number;
  /** Told whenever the number of keys that are due and wait changes. */
  readonly onDepth?: (waiting: number) => void;
}

/**
 * The first retry comes at once for a human: most failures are a conflict or an object that is about to appear. The
 * longest pause is one minute: hundreds of keys that fail for ever then cost a few runs per second, and whoever mends
 * the cause does not wait longer than that.
 */
const FIRST_BACKOFF_MS = 500;
const MAX_BACKOFF_MS = 60_000;
/**
 * A change cuts the backoff of a failing key short, since it may be the cure, but not below this: a reconcile that
 * writes something that it watches and then fails would wake itself without end.
 */
const MIN_PAUSE_AFTER_FAILURE_MS = 2_000;

/**
 * ```
 *            add                    free place, rate
 *  (none) ─────────▶ due ─────────────────────────────▶ running
 *     ▲   ─ addAfter ─▶ delayed ─ time ─▶ due              │
 *     │                    ▲                               │
 *     │                    └─ due again, failed, or ───────┤
 *     │                       added while running          │
 *     └──────────────── nothing more to do ────────────────┘
 * ```
 */
interface Entry {
  state: 'delayed' | 'due' | 'running';
  /** When a delayed one is due. */
  dueAt: number;
  timer: NodeJS.Timeout | undefined;
  /** Added while running: when it is to run again. */
  againAt: number | undefined;
  /** Failures since the last success. */
  failures: number;
  /** End of the pause after a failure. */
  notBefore: number;
}

/** Runs each key's work: a key waits at most once, is never at work twice at a time, and is not lost while at work. */
export class WorkQueue {
  readonly #work: WorkQueueOptions['work'];
  readonly #concurrency: number;
  readonly #ratePerMs: number;
  readonly #burst: number;
  readonly #now: () => number;
  readonly #random: () => number;
  readonly #onDepth: (waiting: number) => void;

  readonly #entries = new Map<string, Entry>();
  /** First in, first out. */
  readonly #due = new Set<string>();
  readonly #running = new Set<Promise<void>>();
  #tokens: number;
  #tokensAt: number;
  #tokenTimer: NodeJS.Timeout | undefined;
  #pumping = false;
  #stopped = false;

  constructor(options: WorkQueueOptions) {
    this.#work = options.work;
    this.#concurrency = options.concurrency ?? 4;
    this.#ratePerMs = (options.ratePerSecond ?? 100) / 1000;
    this.#burst = options.burst ?? 200;
    this.#now = options.now ?? (() => performance.now());
    this.#random = options.random ?? Math.random;
    this.#onDepth = options.onDepth ?? (() => {});
    this.#tokens = this.#burst;
    this.#tokensAt = this.#now();
  }

  /** Keys that are due and wait for a free place. */
  get depth(): number {
    return this.#due.size;
  }

  add(key: string): void {
    this.addAfter(key, 0);
  }

  /** When the key waits already, the earlier time counts. */
  addAfter(key: string, delayMs: number): void {
    if (this.#stopped) return;
    const entry = this.#entries.get(key) ?? this.#enter(key);
    if (entry.state === 'due') return;
    const at = Math.max(this.#now() + delayMs, entry.notBefore);
    if (entry.state === 'running') entry.againAt = Math.min(entry.againAt ?? Infinity, at);
    else this.#delayUntil(key, entry, Math.min(entry.dueAt, at));
    this.#pumpSoon();
  }

  /** Begins no more work, and waits for what is at work. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#tokenTimer);
    for (const entry of this.#entries.values()) clearTimeout(entry.timer);
    this.#due.clear();
    this.#onDepth(0);
    await Promise.all(this.#running);
    this.#entries.clear();
  }

  #enter(key: string): Entry {
    const entry: Entry = {
      state: 'delayed',
      dueAt: Infinity,
      timer: undefined,
      againAt: undefined,
      failures: 0,
      notBefore: -Infinity,
    };
    this.#entries.set(key, entry);
    return entry;
  }

  #delayUntil(key: string, entry: Entry, at: number): void {
    clearTimeout(entry.timer);
    entry.timer = undefined;
    const wait = at - this.#now();
    if (wait > 0) {
      entry.state = 'delayed';
      entry.dueAt = at;
      entry.timer = setTimeout(
        () => {
          this.#delayUntil(key, entry, at);
          this.#pump();
        },
        Math.min(Math.ceil(wait), LONGEST_TIMER_MS),
      );
      return;
    }
    entry.state = 'due';
    entry.dueAt = Infinity;
    this.#due.add(key);
    this.#onDepth(this.#due.size);
  }

  /** What is added in one go (a list of objects that concern the same key) runs once. */
  #pumpSoon(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    queueMicrotask(() => {
      this.#pumping = false;
      this.#pump();
    });
  }

  #pump(): void {
    for (const key of this.#due) {
      if (this.#stopped || this.#running.size >= this.#concurrency || !this.#takeToken()) return;
      this.#due.delete(key);
      this.#onDepth(this.#due.size);
      const entry = this.#entries.get(key);
      if (entry === undefined) continue;
      entry.state = 'running';
      const run = this.#run(key, entry);
      this.#running.add(run);
      void run.finally(() => {
        this.#running.delete(run);
        this.#pump();
      });
    }
  }

  async #run(key: string, entry: Entry): Promise<void> {
    let next: number | undefined;
    try {
      const requeueMs = await this.#work(key);
      entry.failures = 0;
      entry.notBefore = -Infinity;
      if (requeueMs !== undefined) next = this.#now() + requeueMs;
    } catch {
      entry.failures++;
      const backoff = this.#backoff(entry.failures);
      next = this.#now() + backoff;
      entry.notBefore = this.#now() + Math.min(backoff, MIN_PAUSE_AFTER_FAILURE_MS);
    }
    if (entry.againAt !== undefined) next = Math.min(next ?? Infinity, Math.max(entry.againAt, entry.notBefore));
    entry.againAt = undefined;
    if (next === undefined || this.#stopped) this.#entries.delete(key);
    else this.#delayUntil(key, entry, next);
  }

  /** At random between half and all of the doubled time, so that what failed together does not come back together. */
  #backoff(failures: number): number {
    const full = Math.min(FIRST_BACKOFF_MS * 2 ** (failures - 1), MAX_BACKOFF_MS);
    return full * (0.5 + 0.5 * this.#random());
  }

  #takeToken(): boolean {
    const now = this.#now();
    this.#tokens = Math.min(this.#burst, this.#tokens + (now - this.#tokensAt) * this.#ratePerMs);
    this.#tokensAt = now;
    if (this.#tokens >= 1) {
      this.#tokens -= 1;
      return true;
    }
    this.#tokenTimer ??= setTimeout(
      () => {
        this.#tokenTimer = undefined;
        this.#pump();
      },
      Math.ceil((1 - this.#tokens) / this.#ratePerMs),
    );
    return false;
  }
}
