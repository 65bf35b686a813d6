/** How long an operation has waited for answers of its client, who has time of its own for that. */
export class ParkedTime {
  #since: number | undefined;
  #ended = 0;

  /** It waits now. */
  get isOn(): boolean {
    return this.#since !== undefined;
  }

  /** In all, in milliseconds. */
  get ms(): number {
    return this.#ended + (this.#since === undefined ? 0 : performance.now() - this.#since);
  }

  begin(): void {
    this.#since ??= performance.now();
  }

  end(): void {
    this.#ended = this.ms;
    this.#since = undefined;
  }
}
