import type { Ending } from '../../path/ending.ts';
import type { ReplyControl } from '../../path/reply.ts';

/** What the client that reads the answer does to its exchange, until it leaves and the exchange goes on without it. */
export class ReaderControl implements ReplyControl {
  readonly #control: ReplyControl;
  /** How often it holds the upstream's data back. */
  #holds = 0;
  #hasLeft = false;

  constructor(control: ReplyControl) {
    this.#control = control;
  }

  pause(): void {
    if (this.#hasLeft) return;
    this.#holds += 1;
    this.#control.pause();
  }

  resume(): void {
    if (this.#hasLeft) return;
    this.#holds -= 1;
    this.#control.resume();
  }

  abort(ending: Ending): void {
    if (!this.#hasLeft) this.#control.abort(ending);
  }

  /** The client that did not read has its answer: nobody would say that it reads again. */
  leave(): void {
    this.#hasLeft = true;
    for (; this.#holds > 0; this.#holds--) this.#control.resume();
  }
}
