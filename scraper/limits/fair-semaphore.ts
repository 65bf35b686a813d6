/** Who asks, and whom. */
export interface Asking {
  readonly source: string;
  /** Of the source, also where its pages lead elsewhere: an API must not get more permits by naming more hosts. */
  readonly host: string;
}

interface Waiting extends Asking {
  readonly enter: (permit: Permit) => void;
}

interface Permit extends Asking {
  readonly since: number;
}

/** What a source had of the permits counts half as much after this time. */
const HALF_LIFE_MS = 60_000;
/** So little is nothing. */
const NOTHING_MS = 1;

/**
 * FairSemaphore for requests to all sources. One host has at most half of them, so that APIs which are slow hold up only their
 * own host; and the next permit goes to the source that has had the least of them lately, whoever came first.
 */
export class FairSemaphore {
  readonly #size: number;
  readonly #clock: () => number;
  readonly #taken = new Set<Permit>();
  readonly #had = new Map<string, { readonly ms: number; readonly at: number }>();
  #waiting: Waiting[] = [];
  #hasOneHost = false;

  /** @param clock milliseconds of a clock that only runs forwards */
  constructor(size: number, clock: () => number) {
    this.#size = size;
    this.#clock = clock;
  }

  /** Which sources there are from now on. Where all have the same host, that may have all permits. */
  setSources(sources: readonly Asking[]): void {
    this.#hasOneHost = new Set(sources.map(({ host }) => host)).size <= 1;
    const names = new Set(sources.map(({ source }) => source));
    for (const name of this.#had.keys()) if (!names.has(name)) this.#had.delete(name);
    this.#next();
  }

  /**
   * Waits for a permit and returns what gives it back.
   * @throws the reason of the signal when that aborted
   */
  async take(asking: Asking, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<Permit>();
    const waiting: Waiting = { ...asking, enter: resolve };
    const giveUp = (): void => {
      this.#waiting = this.#waiting.filter((one) => one !== waiting);
      reject(signal.reason);
    };
    signal.addEventListener('abort', giveUp, { once: true });
    this.#waiting.push(waiting);
    this.#next();
    const permit = await promise.finally(() => signal.removeEventListener('abort', giveUp));
    return () => {
      if (this.#taken.delete(permit)) this.#givenBack(permit);
    };
  }

  #next(): void {
    while (this.#waiting.length > 0 && this.#taken.size < this.#size) {
      const next = this.#mostDue();
      if (next === undefined) return;
      const { source, host } = next;
      const permit = { source, host, since: this.#clock() };
      this.#waiting = this.#waiting.filter((one) => one !== next);
      this.#taken.add(permit);
      next.enter(permit);
    }
  }

  /** Of those whose sources had the same, the first. */
  #mostDue(): Waiting | undefined {
    const most = this.#hasOneHost ? this.#size : Math.ceil(this.#size / 2);
    const ofHost = new Map<string, number>();
    for (const { host } of this.#taken) ofHost.set(host, (ofHost.get(host) ?? 0) + 1);
    const may = this.#waiting.filter(({ host }) => (ofHost.get(host) ?? 0) < most);
    if (may.length < 2) return may[0];
    const had = this.#hadUntilNow();
    let best: Waiting | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (const one of may) {
      const ms = had.get(one.source) ?? this.#hadBy(one.source);
      if (ms >= least) continue;
      least = ms;
      best = one;
    }
    return best;
  }

  /** Of the sources that have permits now, these included, each as a millisecond at least. */
  #hadUntilNow(): ReadonlyMap<string, number> {
    const now = this.#clock();
    const had = new Map<string, number>();
    for (const { source, since } of this.#taken) {
      had.set(source, (had.get(source) ?? this.#hadBy(source)) + now - since + 1);
    }
    return had;
  }

  #givenBack({ source, since }: Permit): void {
    const now = this.#clock();
    this.#had.set(source, { ms: this.#hadBy(source) + now - since, at: now });
    this.#next();
  }

  /** Milliseconds for which the source has had permits lately. */
  #hadBy(source: string): number {
    const had = this.#had.get(source);
    if (had === undefined) return 0;
    const left = had.ms * 0.5 ** ((this.#clock() - had.at) / HALF_LIFE_MS);
    return left < NOTHING_MS ? 0 : left;
  }
}
