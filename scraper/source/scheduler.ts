interface Entry {
  readonly key: string;
  at: number;
  readonly run: () => void;
  /** Place in the heap. */
  place: number;
}

/** The clock of the machine can be set: no wait is longer than until the next look at it. */
const LONGEST_WAIT_MS = 30_000;
/** What is less may be a clock that is put right little by little. */
const SET_BACK_MS = 1_000;

/** Timers of thousands of keys, at most one each, on one timer of the process: a heap by time. */
export class Scheduler {
  readonly #now: () => number;
  readonly #entries = new Map<string, Entry>();
  readonly #heap: Entry[] = [];
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Number.POSITIVE_INFINITY;
  #stopped = false;
  /** By how much the clock was ahead of one that only runs forwards. */
  #ahead: number;
  #onSetBack = (): void => undefined;

  constructor(now: () => number = Date.now) {
    this.#now = now;
    this.#ahead = now() - performance.now();
  }

  /**
   * When the clock is set back, all times go back with it, so that nothing waits for as long as it was ahead. Then this
   * is called, to set anew what depends on the time of day.
   */
  onSetBack(work: () => void): void {
    this.#onSetBack = work;
  }

  /** RunHistory something at a time, in milliseconds since 1970, in the place of what the key had before. */
  set(key: string, at: number, run: () => void): void {
    if (this.#stopped) return;
    this.#lookAtClock();
    this.delete(key);
    const entry: Entry = { key, at, run, place: this.#heap.length };
    this.#entries.set(key, entry);
    this.#heap.push(entry);
    this.#up(entry);
    this.#arm();
  }

  /** When something is due; undefined: nothing is. */
  at(key: string): number | undefined {
    return this.#entries.get(key)?.at;
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#remove(entry);
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.#entries.clear();
    this.#heap.length = 0;
  }

  #arm(): void {
    const [first] = this.#heap;
    if (first === undefined || first.at >= this.#timerAt) return;
    clearTimeout(this.#timer);
    this.#timerAt = first.at;
    this.#timer = setTimeout(() => this.#wake(), Math.min(Math.max(0, first.at - this.#now()), LONGEST_WAIT_MS));
  }

  #wake(): void {
    this.#timerAt = Number.POSITIVE_INFINITY;
    this.#lookAtClock();
    const now = this.#now();
    for (let first = this.#heap[0]; first !== undefined && first.at <= now; first = this.#heap[0]) {
      this.delete(first.key);
      first.run();
    }
    this.#arm();
  }

  #lookAtClock(): void {
    const before = this.#ahead;
    this.#ahead = this.#now() - performance.now();
    const back = before - this.#ahead;
    if (back < SET_BACK_MS) return;
    // By the same for all, so that the heap stays one.
    for (const entry of this.#heap) entry.at -= back;
    this.#onSetBack();
  }

  #remove(entry: Entry): void {
    const last = this.#heap.pop();
    if (last === undefined || last === entry) return;
    last.place = entry.place;
    this.#heap[entry.place] = last;
    this.#up(last);
    this.#down(last);
  }

  #up(entry: Entry): void {
    for (;;) {
      const parent = this.#heap[(entry.place - 1) >> 1];
      if (entry.place === 0 || parent === undefined || parent.at <= entry.at) return;
      this.#swap(parent, entry);
    }
  }

  #down(entry: Entry): void {
    for (;;) {
      const left = this.#heap[entry.place * 2 + 1];
      const right = this.#heap[entry.place * 2 + 2];
      const child = right !== undefined && left !== undefined && right.at < left.at ? right : left;
      if (child === undefined || child.at >= entry.at) return;
      this.#swap(entry, child);
    }
  }

  #swap(upper: Entry, lower: Entry): void {
    [upper.place, lower.place] = [lower.place, upper.place];
    this.#heap[upper.place] = upper;
    this.#heap[lower.place] = lower;
  }
}
