import type { Assignment, AssignmentOptions } from './assignment.ts';
import type { Fence } from './ledger.ts';

const FENCE: Fence = { token: 0n };

/** All sources for the only pod there is, which has the state file for itself. */
export class LocalAssignment implements Assignment {
  readonly #options: AssignmentOptions;
  readonly #pod: string;
  #held: ReadonlySet<string> = new Set();

  constructor(pod: string, options: AssignmentOptions) {
    this.#pod = pod;
    this.#options = options;
  }

  start(): Promise<void> {
    return this.refresh();
  }

  fence(source: string): Fence | undefined {
    return this.#held.has(source) ? FENCE : undefined;
  }

  async refresh(): Promise<void> {
    const [before, after] = [this.#held, new Set(this.#options.sources())];
    this.#held = new Set([...before, ...after]);
    for (const source of after) if (!before.has(source)) this.#options.gained(source);
    await Promise.all([...before].filter((source) => !after.has(source)).map((source) => this.#options.lost(source)));
    this.#held = after;
  }

  pods(): readonly string[] {
    return [this.#pod];
  }

  async stop(): Promise<void> {
    this.#held = new Set();
  }
}
