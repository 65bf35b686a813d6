import { AdapterError } from '../errors.ts';
import { MAX_HELD_CHARS, MAX_HELD_FRAMES } from '../limits.ts';

const TOO_MUCH = 'The upstream server sent more than 1 MiB or 100 messages before its answer.';

/** What waits for the head of an event stream, which says whether there is one. */
export class HeldFrames {
  /** Messages of our own, each once. */
  readonly notices: string[] = [];
  #text = '';
  #count = 0;

  /** @throws AdapterError where that is too much */
  push(frames: string): void {
    if (this.#count++ >= MAX_HELD_FRAMES || this.#text.length + frames.length > MAX_HELD_CHARS) {
      throw new AdapterError('upstream_failed', TOO_MUCH);
    }
    this.#text += frames;
  }

  notify(text: string): void {
    if (!this.notices.includes(text)) this.notices.push(text);
  }

  /** Text of all frames so far. Nothing of them waits any more. */
  take(): string {
    const text = this.#text;
    this.#text = '';
    return text;
  }
}
