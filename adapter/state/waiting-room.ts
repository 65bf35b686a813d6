/** Each call that waits holds what its client sent. */
const MOST_WAITING = 1_000;

/** Where operations wait for something that is down: a bounded number of them, for a bounded time. */
export class WaitingRoom {
  readonly #waiting = new Set<(isOpen: boolean) => void>();
  #closed = false;

  /** True once it is there; false when the time is over, nobody may wait any more, or too many wait already. */
  wait(ms: number): Promise<boolean> {
    if (this.#closed || ms <= 0 || this.#waiting.size >= MOST_WAITING) return Promise.resolve(false);
    return new Promise((resolve) => {
      const end = (isOpen: boolean): void => {
        clearTimeout(timer);
        this.#waiting.delete(end);
        resolve(isOpen);
      };
      const timer = setTimeout(end, ms, false);
      this.#waiting.add(end);
    });
  }

  /** It is there: all go on, in the order in which they came. */
  letIn(): void {
    this.#end(true);
  }

  /** It will not be there in time. */
  sendAway(): void {
    this.#end(false);
  }

  /** From now on nobody waits. */
  close(): void {
    this.#closed = true;
    this.#end(false);
  }

  #end(isOpen: boolean): void {
    for (const end of Array.from(this.#waiting)) end(isOpen);
  }
}
