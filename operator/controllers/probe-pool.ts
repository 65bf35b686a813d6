/**
 * - `prompt`: who is asked for the first time, or answered the last time.
 * - `slow`: who did not.
 */
export type Lane = 'prompt' | 'slow';

/** Questions that are under way at a time. */
const PLACES: Readonly<Record<Lane, number>> = { prompt: 64, slow: 64 };

/**
 * Questions to those who may be slow or silent, asked beside the queue of reconciles, so that nobody's answer is waited
 * for there: one at a time for each id, and so many in all. Those who did not answer the last time have places of their
 * own and wait only for each other.
 */
export class ProbePool {
  readonly #onError: (error: unknown) => void;
  readonly #stopping = new AbortController();
  readonly #underWay = new Map<string, Promise<void>>();
  readonly #places: Readonly<Record<Lane, Semaphore>>;

  /** @param options.onError told of questions that failed; none should */
  constructor(options: { onError: (error: unknown) => void; places?: Readonly<Record<Lane, number>> }) {
    this.#onError = options.onError;
    const { prompt, slow } = options.places ?? PLACES;
    this.#places = { prompt: new Semaphore(prompt), slow: new Semaphore(slow) };
  }

  /** Begins as soon as there is a place; nothing while the probe of this id is under way. */
  start(id: string, lane: Lane, probe: (signal: AbortSignal) => Promise<void>): void {
    const { signal } = this.#stopping;
    if (this.#underWay.has(id) || signal.aborted) return;
    const probing = this.#places[lane]
      .use(async () => (signal.aborted ? undefined : probe(signal)))
      .catch((error: unknown) => {
        if (!signal.aborted) this.#onError(error);
      })
      .finally(() => this.#underWay.delete(id));
    this.#underWay.set(id, probing);
  }

  /** Number of questions that are under way or wait for a place. */
  get size(): number {
    return this.#underWay.size;
  }

  /** Ends what is under way, and begins no more. */
  async close(): Promise<void> {
    this.#stopping.abort(new Error('the operator stops'));
    await Promise.all(this.#underWay.values());
  }
}

/** First come, first served. */
class Semaphore {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  async use(work: () => Promise<void>): Promise<void> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free++;
      else next();
    }
  }
}
