import { setImmediate as nextTurn } from 'node:timers/promises';

/** What is done to a longer text takes milliseconds each time. */
const LARGE_CHARS = 256 << 10;

let last: Promise<unknown> = Promise.resolve();

/**
 * Comes before work on a text. For a large one it waits for a turn of the event loop in which no other is worked on, so
 * that calls get through between them.
 */
export function ownTurn(chars: number, largeChars = LARGE_CHARS): Promise<unknown> | undefined {
  if (chars < largeChars) return undefined;
  last = last.then(() => nextTurn());
  return last;
}

export function inOwnTurn<T>(text: string, work: (text: string) => T | Promise<T>): T | Promise<T> {
  return ownTurn(text.length)?.then(() => work(text)) ?? work(text);
}
