import type { ResponseControl } from './upstream.ts';

/** The control of an exchange that may not have started yet: what was wanted before that is done as soon as it has. */
export class EarlyControl implements ResponseControl {
  #control: ResponseControl | undefined;
  #isPaused = false;
  #isAborted = false;

  started(control: ResponseControl): void {
    this.#control = control;
    if (this.#isAborted) control.abort();
    else if (this.#isPaused) control.pause();
  }

  pause(): void {
    this.#isPaused = true;
    this.#control?.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#control?.resume();
  }

  abort(): void {
    this.#isAborted = true;
    this.#control?.abort();
  }
}
