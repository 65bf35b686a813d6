import { setImmediate as nextTurn } from 'node:timers/promises';

export interface EventQueueOptions<T> {
  /** `max_queue_size`. */
  readonly maxSize: number;
  /** `queue_batch_size`: how many are worked off before anything else gets its turn. */
  readonly batchSize: number;
  /** `drop_on_queue_full`. Where false, who brings an event to a full queue works off a batch first. */
  readonly dropsWhenFull: boolean;
  readonly work: (event: T) => void;
  readonly onDropped: (reason: 'queue_full' | 'failed' | 'shutdown', events: number) => void;
}

/**
 * Events on their way from requests, which only put them here, to whoever works them off between requests. Bounded; a
 * failure of one event loses this one.
 */
export class EventQueue<T> {
  readonly #options: EventQueueOptions<T>;
  #events: T[] = [];
  /** Where the next event stands; those before are worked off. */
  #next = 0;
  #turn: NodeJS.Immediate | undefined;

  constructor(options: EventQueueOptions<T>) {
    this.#options = options;
  }

  get depth(): number {
    return this.#events.length - this.#next;
  }

  push(event: T): void {
    if (this.depth >= this.#options.maxSize) {
      if (this.#options.dropsWhenFull) return this.#options.onDropped('queue_full', 1);
      this.#workOff();
    }
    this.#events.push(event);
    this.#turn ??= setImmediate(this.#takeTurn);
  }

  /** Works off everything, batch by batch, until the signal says that it takes too long. What is left is dropped. */
  async drain(signal: AbortSignal): Promise<void> {
    clearImmediate(this.#turn);
    this.#turn = undefined;
    while (this.depth > 0 && !signal.aborted) {
      this.#workOff();
      await nextTurn();
    }
    if (this.depth > 0) this.#options.onDropped('shutdown', this.depth);
    this.#events = [];
    this.#next = 0;
  }

  readonly #takeTurn = (): void => {
    this.#turn = undefined;
    this.#workOff();
    if (this.depth > 0) this.#turn ??= setImmediate(this.#takeTurn);
  };

  #workOff(): void {
    const events = this.#events;
    const end = Math.min(events.length, this.#next + this.#options.batchSize);
    while (this.#next < end) {
      const event = events[this.#next++] as T;
      try {
        this.#options.work(event);
      } catch {
        this.#options.onDropped('failed', 1);
      }
    }
    if (this.#next === events.length) {
      this.#events = [];
      this.#next = 0;
    } else if (this.#next > this.#options.maxSize) {
      this.#events = events.slice(this.#next);
      this.#next = 0;
    }
  }
}
