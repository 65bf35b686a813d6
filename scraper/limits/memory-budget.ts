import { getHeapStatistics } from 'node:v8';

/** The answers of a window do not fit into memory: alone, or beside other windows that all wait for each other. */
export class NoMemory extends Error {
  override readonly name = 'NoMemory';
}

interface Waiting {
  readonly share: MemoryShare;
  readonly bytes: number;
  readonly granted: () => void;
  readonly refused: (error: unknown) => void;
}

/** Who holds less waits for nobody: windows that need little are no slower because others need more than there is. */
const SMALL_BYTES = 1 << 20;
/** What there is for those beside everything else, as a share of it. */
const FOR_SMALL = 1 / 8;

/** What windows may hold at a time of what APIs have answered, until it is delivered, all together; who wants more waits. */
export class MemoryBudget {
  readonly #total: number;
  /** Of windows that go on. */
  readonly #shares = new Set<MemoryShare>();
  /** What can be had again, oldest first, and how it is let go. */
  readonly #resting = new Map<MemoryShare, () => void>();
  #waiting: Waiting[] = [];
  #used = 0;

  constructor(total: number) {
    this.#total = total;
  }

  share(): MemoryShare {
    return new MemoryShare(this);
  }

  /** @throws NoMemory; the reason of `signal` when that aborted */
  async take(share: MemoryShare, bytes: number, signal: AbortSignal): Promise<void> {
    if (share.held + bytes > this.#total) throw new NoMemory(this.#tooMuch());
    if (this.takeNow(share, bytes)) return;
    this.#reclaim(bytes);
    if (this.takeNow(share, bytes)) return;
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting = { share, bytes, granted: resolve, refused: reject };
    const giveUp = (): void => {
      this.#waiting = this.#waiting.filter((one) => one !== waiting);
      reject(signal.reason);
    };
    signal.addEventListener('abort', giveUp, { once: true });
    this.#waiting.push(waiting);
    this.#breakDeadlock();
    await promise.finally(() => signal.removeEventListener('abort', giveUp));
  }

  /** False: it would have to wait. */
  takeNow(share: MemoryShare, bytes: number): boolean {
    const isSmall = share.held + bytes <= Math.min(SMALL_BYTES, this.#total * FOR_SMALL);
    const isFree = isSmall || share.held > 0 || this.#waiting.length === 0;
    if (!isFree || this.#used + bytes > this.#total * (isSmall ? 1 + FOR_SMALL : 1)) return false;
    this.set(share, share.held + bytes);
    return true;
  }

  /** What there is for all. */
  get total(): number {
    return this.#total;
  }

  /** Without asking: what is there already, or not any more. */
  set(share: MemoryShare, held: number): void {
    this.#used += held - share.held;
    share.held = held;
    if (held === 0) {
      this.#shares.delete(share);
      this.#resting.delete(share);
    } else if (!this.#resting.has(share)) this.#shares.add(share);
    this.#next();
  }

  /** Nobody works on it for now; `letGo` is called, and must give it back, when somebody else needs the memory. */
  rest(share: MemoryShare, letGo: () => void): void {
    if (this.#waiting.length > 0) return letGo();
    this.#shares.delete(share);
    this.#resting.set(share, letGo);
  }

  wake(share: MemoryShare): void {
    if (this.#resting.delete(share) && share.held > 0) this.#shares.add(share);
  }

  #reclaim(bytes: number): void {
    for (const letGo of this.#resting.values()) {
      if (this.#used + bytes <= this.#total) return;
      letGo();
    }
  }

  /** Who holds something already comes first, because only that gives anything back. */
  #next(): void {
    if (this.#waiting.length === 0) return;
    const inOrder = [
      ...this.#waiting.filter(({ share }) => share.held > 0),
      ...this.#waiting.filter(({ share }) => share.held === 0),
    ];
    for (const { share, bytes, granted } of inOrder) {
      if (this.#used + bytes > this.#total) break;
      this.#waiting = this.#waiting.filter((one) => one.granted !== granted);
      granted();
      return this.set(share, share.held + bytes);
    }
    this.#breakDeadlock();
  }

  /** When all that hold something wait for more, the one that came last gives up. */
  #breakDeadlock(): void {
    const stuck = this.#waiting.filter(({ share }) => share.held > 0);
    if (stuck.length === 0 || stuck.length < this.#shares.size) return;
    const last = [...this.#shares].at(-1);
    const waiting = stuck.find(({ share }) => share === last);
    if (waiting === undefined) return;
    this.#waiting = this.#waiting.filter((one) => one !== waiting);
    waiting.refused(new NoMemory('the answers of windows that are fetched at the same time do not fit into memory'));
  }

  #tooMuch(): string {
    const most = Math.floor(this.#total / 2 ** 20);
    return `the answers of this window need more than the ${most} MiB of memory that there are for answers`;
  }
}

/** What one window holds. */
export class MemoryShare implements Disposable {
  readonly #budget: MemoryBudget;
  /** Bytes; only the budget changes it. */
  held = 0;

  constructor(budget: MemoryBudget) {
    this.#budget = budget;
  }

  /** The most that it can have. */
  get most(): number {
    return this.#budget.total;
  }

  /** Waits until there is room. @throws NoMemory; the reason of `signal` when that aborted */
  take(bytes: number, signal: AbortSignal): Promise<void> {
    return this.#budget.take(this, bytes, signal);
  }

  /** False: nothing was taken, because it would have to wait. */
  takeNow(bytes: number): boolean {
    return this.#budget.takeNow(this, bytes);
  }

  /** Of what was taken, this much stays; it may be more, for it is there already. */
  keep(bytes: number): void {
    this.#budget.set(this, bytes);
  }

  /** @param letGo gives it back when others need it; see `MemoryBudget.rest` */
  rest(letGo: () => void): void {
    this.#budget.rest(this, letGo);
  }

  wake(): void {
    this.#budget.wake(this);
  }

  [Symbol.dispose](): void {
    this.#budget.set(this, 0);
  }
}

/** Half of the memory that this process may use; the other half is for everything else, and for being wrong. */
export const memoryForAnswers = (): number => Math.floor(usableMemory() / 2);

/** What the sums of all sources may hold, for as long as the process lives. */
export const memoryForSeries = (): number => Math.floor(usableMemory() / 4);

function usableMemory(): number {
  const container = process.constrainedMemory() || Number.POSITIVE_INFINITY;
  return Math.min(getHeapStatistics().heap_size_limit, container);
}
