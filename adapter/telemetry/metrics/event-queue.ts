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

/** How long a few events rest before they are worked off. */
const REST_MS = 20;

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
  #rest: NodeJS.Timeout | undefined;
  /** How many events are not left to rest. */
  readonly #enough: number;

  constructor(options: EventQueueOptions<T>) {
    this.#options = options;
    this.#enough = Math.min(options.batchSize, options.maxSize / 8);
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
    // Something to do in every turn of the event loop makes each of them dearer.
    if (this.depth >= this.#enough) this.#turn ??= setImmediate(this.#takeTurn);
    else this.#rest ??= setTimeout(this.#takeTurn, REST_MS).unref();
  }

  /** Works off everything at once. */
  flush(): void {
    while (this.depth > 0) this.#workOff();
  }

  /** Works off everything, batch by batch, until the signal says that it takes too long. What is left is dropped. */
  async drain(signal: AbortSignal): Promise<void> {
    clearImmediate(this.#turn);
    clearTimeout(this.#rest);
    this.#turn = undefined;
    this.#rest = undefined;
    while (this.depth > 0 && !signal.aborted) {
      this.#workOff();
      await nextTurn();
    }
    if (this.depth > 0) this.#options.onDropped('shutdown', this.depth);
    this.#events = [];
    this.#next = 0;
  }

  readonly #takeTurn = (): void => {
    clearTimeout(this.#rest);
    this.#turn = undefined;
    this.#rest = undefined;
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
