/**
 * What looking for tools may take for one answer: about 50 ms. Counted, not timed, so that the same question always has
 * the same answer. A step is one look at a term or at where it occurs.
 */
const MAX_STEPS = 500_000;
/** Before others get their turn. */
const STEPS_OF_TURN = 20_000;

export class SearchBudget {
  #left = MAX_STEPS;
  #turn = STEPS_OF_TURN;

  get isSpent(): boolean {
    return this.#left <= 0;
  }

  spend(steps: number): void {
    this.#left -= steps;
    this.#turn -= steps;
  }

  /** Whether it is time to let others go on; said once for each time. */
  takesTurn(): boolean {
    if (this.#turn > 0) return false;
    this.#turn = STEPS_OF_TURN;
    return true;
  }
}
