/** Nothing is left of a run's budget, and a window has records; it waits for the next one, where it comes first. */
export class BudgetExceeded extends Error {
  override readonly name = 'BudgetExceeded';
}

/** How many records a run may still emit. */
export class RecordBudget {
  #left: number;

  constructor(limit: number | null) {
    this.#left = limit ?? Number.POSITIVE_INFINITY;
  }

  get hasRoom(): boolean {
    return this.#left > 0;
  }

  /** As many of these as there is room for. */
  take(wanted: number): number {
    const taken = Math.min(wanted, this.#left);
    this.#left -= taken;
    return taken;
  }

  giveBack(records: number): void {
    this.#left += records;
  }
}
