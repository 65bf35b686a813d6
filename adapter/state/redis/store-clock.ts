/** Replicas whose own clock differs from the store's by more are told of, and remove nothing. */
const MOST_DIFFERENCE_MS = 5_000;
/** Crystals are that exact, and mostly better: so much each millisecond adds to what is not known. */
const DRIFT = 0.0005;

/** What the store's clock showed. */
export interface ClockReading {
  /** When, in milliseconds of a clock that only runs forwards. */
  readonly at: number;
  /** Milliseconds since the epoch. */
  readonly time: number;
  /** By how much that may be wrong: half of the round trip. */
  readonly errorMs: number;
}

/**
 * The clock of the store that replicas share, as this replica knows it: what was read last, and the time that has passed
 * since on a clock that nobody can set. Before it was read it is the replica's own.
 */
export class StoreClock {
  readonly #onChange: ((message: string) => void) | undefined;
  #reading: ClockReading | undefined;
  #differs = false;

  /** `onChange` is told when the replica's own clock begins to differ, and when it is right again. */
  constructor(onChange?: (message: string) => void) {
    this.#onChange = onChange;
  }

  now(): number {
    return this.#reading === undefined ? Date.now() : Math.round(timeAt(this.#reading, performance.now()));
  }

  /** Reads the store's clock, which `read` asks for. */
  async measure(read: () => Promise<number>): Promise<void> {
    const sentAt = performance.now();
    const time = await read();
    const errorMs = (performance.now() - sentAt) / 2;
    this.#reading = betterReading(this.#reading, { at: sentAt + errorMs, time, errorMs });
    const { differs } = this.status();
    if (differs === this.#differs) return;
    this.#differs = differs;
    this.#onChange?.(
      differs
        ? `the clock of this replica differs from that of the state store by ${this.status().aheadMs} ms; it cleans nothing up`
        : 'the clock of this replica agrees with that of the state store again',
    );
  }

  /** By how much the replica's own clock is ahead of the store's, and whether that is too much. */
  status(): { aheadMs: number; differs: boolean } {
    const reading = this.#reading;
    const aheadMs = reading === undefined ? 0 : Date.now() - this.now();
    return { aheadMs, differs: reading !== undefined && Math.abs(aheadMs) > MOST_DIFFERENCE_MS + reading.errorMs };
  }
}

const timeAt = ({ time, at }: ClockReading, now: number): number => time + (now - at);

/** The one that says more exactly what the time is; the later one where they cannot both be right. */
export function betterReading(before: ClockReading | undefined, next: ClockReading): ClockReading {
  if (before === undefined) return next;
  const errorMs = before.errorMs + (next.at - before.at) * DRIFT;
  const agree = Math.abs(timeAt(before, next.at) - next.time) <= errorMs + next.errorMs;
  return agree && errorMs < next.errorMs ? before : next;
}
