import { setTimeout as delay } from 'node:timers/promises';

const PATIENCE_MS = 15_000;
const INTERVAL_MS = 20;

/** Asks again and again until the answer is yes; rejects after 15 s. Works in hooks too. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const limit = performance.now() + PATIENCE_MS;
  while (!(await isSo())) {
    if (performance.now() > limit) throw new Error(`not within ${PATIENCE_MS} ms: ${what}`);
    await delay(INTERVAL_MS);
  }
}
