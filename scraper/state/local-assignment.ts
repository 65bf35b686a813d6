import type { Assignment, AssignmentOptions } from './assignment.ts';
import type { Fence } from './ledger.ts';

const FENCE: Fence = { token: 0n };

/** All sources for the only pod there is, which has the state file for itself. */
export class LocalAssignment implements Assignment {
  readonly #options: AssignmentOptions;
  readonly #pod: string;
  readonly #held = new Set<string>();
  readonly #leaving = new Map<string, Promise<void>>();

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
    const wanted = new Set(this.#options.sources());
    for (const source of wanted) this.#gain(source);
    await Promise.all([...this.#held].filter((source) => !wanted.has(source)).map((source) => this.#leave(source)));
  }

  pods(): readonly string[] {
    return [this.#pod];
  }

  async stop(): Promise<void> {
    this.#held.clear();
  }

  #gain(source: string): void {
    if (this.#held.has(source)) return;
    this.#held.add(source);
    this.#options.gained(source);
  }

  /** Once, also when asked again while it is under way. A source that has come back meanwhile is gained anew. */
  #leave(source: string): Promise<void> {
    const { lost, sources } = this.#options;
    const left =
      this.#leaving.get(source) ??
      lost(source).finally(() => {
        this.#leaving.delete(source);
        if (this.#held.delete(source) && sources().includes(source)) this.#gain(source);
      });
    this.#leaving.set(source, left);
    return left;
  }
}
