import { setImmediate } from 'node:timers/promises';

/** Items that are worked on before the clock is looked at. */
const ITEMS_AT_ONCE = 1000;
/** Milliseconds of work after which others have their turn: health checks must be answered meanwhile. */
const TURN_MS = 25;

/** Works on many items without holding up the event loop. */
export async function inChunks<T>(items: readonly T[], work: (some: readonly T[]) => void): Promise<void> {
  let since = performance.now();
  for (let from = 0; from < items.length; from += ITEMS_AT_ONCE) {
    if (performance.now() - since > TURN_MS) {
      await setImmediate();
      since = performance.now();
    }
    work(items.length <= ITEMS_AT_ONCE ? items : items.slice(from, from + ITEMS_AT_ONCE));
  }
}
