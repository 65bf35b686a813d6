import type { FirstTexts, FirstTextTime } from '../first-texts.ts';

/** Where the first texts of a store that lives in this process are kept. */
export interface FirstTextTable {
  /** Undefined where there is none, or its time is over. */
  get(name: string, now: number): string | undefined;
  set(name: string, text: string, expiresAt: number): void;
  /** May leave some for later. */
  dropExpired(now: number): void;
}

/** The first texts of a store that lives in this process. */
export class TableFirstTexts implements FirstTexts {
  readonly #step: <T>(work: (texts: FirstTextTable) => T) => Promise<T>;

  /** `step` runs its argument as one atomic step, and resolves once it is done for good. */
  constructor(step: <T>(work: (texts: FirstTextTable) => T) => Promise<T>) {
    this.#step = step;
  }

  find(name: string, { now, expiresAt }: FirstTextTime): Promise<string | undefined> {
    return this.#step((texts) => {
      const kept = texts.get(name, now);
      if (kept !== undefined) texts.set(name, kept, expiresAt);
      return kept;
    });
  }

  keep(name: string, text: string, { now, expiresAt }: FirstTextTime): Promise<string> {
    return this.#step((texts) => {
      texts.dropExpired(now);
      const kept = texts.get(name, now) ?? text;
      texts.set(name, kept, expiresAt);
      return kept;
    });
  }
}
