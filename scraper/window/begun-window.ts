import type { Semaphore } from '../limits/semaphore.ts';
import { type Fence, type Ledger, type LedgerWindow, MOMENT } from '../state/ledger.ts';

/** The process has ended twice while it read the answers of a window, which is therefore not read again. */
export class CrashedTwice extends Error {
  override readonly name = 'CrashedTwice';

  constructor() {
    super(
      'the scraper ended twice while it read this window; look at why (memory?), ask for less at a time ' +
        '(scrape.pagination, scrape.parallelWindow), then have it tried again (admin API: POST /sources/<name>/retry)',
    );
  }
}

/** What is less does not end a process, and is not worth a write. */
const LARGE_BYTES = 262_144;
const MOST_CRASHES = 2;

interface BegunDeps {
  readonly source: string;
  readonly isRange: boolean;
  readonly ledger: Pick<Ledger, 'begin' | 'letGo'>;
  /** What this process has noted; shared by all windows of the source. */
  readonly begun: Set<string>;
  /** Windows that were read when the process crashed are read one after the other, so that the next crash tells which it was. */
  readonly suspects: Semaphore;
}

/** Notes in the ledger that the answers of a window are read, once there are many of them. */
export class BegunWindow {
  readonly #parts: BegunDeps;
  readonly #id: string;
  #bytes = 0;
  #giveBack: (() => void) | undefined;

  constructor({ id }: Pick<LedgerWindow, 'id'>, parts: BegunDeps) {
    this.#parts = parts;
    this.#id = parts.isRange ? id : MOMENT;
  }

  /** Before an answer is read. @throws CrashedTwice, StateUnavailable, the reason of `signal` when that aborted */
  async arrived(bytes: number, fence: Fence, signal: AbortSignal): Promise<void> {
    const { source, ledger, begun, suspects } = this.#parts;
    this.#bytes += bytes;
    if (this.#bytes < LARGE_BYTES || begun.has(this.#id)) return;
    const begin = async (): Promise<number> => {
      const crashes = (await ledger.begin(source, this.#id, fence)) ?? 0;
      begun.add(this.#id);
      if (crashes >= MOST_CRASHES) throw new CrashedTwice();
      return crashes;
    };
    if ((await begin()) === 0) return;
    await this.letGo();
    this.#giveBack = await suspects.take(signal);
    await begin();
  }

  /** What others wait for; that it was begun stays noted. */
  giveBack(): void {
    this.#giveBack?.();
  }

  /** The ledger has written down how it ended. */
  ended(): void {
    this.giveBack();
    this.#parts.begun.delete(this.#id);
  }

  /** It was given up in good order. @throws StateUnavailable */
  async letGo(): Promise<void> {
    const { source, ledger, begun } = this.#parts;
    this.giveBack();
    if (begun.delete(this.#id)) await ledger.letGo(source, this.#id);
  }
}
