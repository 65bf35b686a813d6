import { setImmediate as nextTurn } from 'node:timers/promises';

const TURN_MS = 5;

/** Runs work to its end, a few milliseconds at a time, so that a long list does not keep others from the event loop. */
export async function yieldToEventLoop<T>(steps: Generator<unknown, T>): Promise<T> {
  let since = performance.now();
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (performance.now() - since < TURN_MS) continue;
    // oxlint-disable-next-line no-await-in-loop -- that is what it is for
    await nextTurn();
    since = performance.now();
  }
}
