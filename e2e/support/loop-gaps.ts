import { fileURLToPath, pathToFileURL } from 'node:url';
import { setTimeout as delay } from 'node:timers/promises';
import type { RunningAdapter } from './adapter-process.ts';

const PROBE = pathToFileURL(fileURLToPath(new URL('loop-probe.ts', import.meta.url))).href;
const POLL_MS = 5;
const PATIENCE_MS = 10_000;

/** For the environment of an adapter whose event loop is to be watched. */
export const WATCHED = { NODE_OPTIONS: `--import=${PROBE}` };

/** Longest times since they were asked for last, in milliseconds. */
export interface LoopGaps {
  /** In which the event loop did not go on, also because the machine had other things to do. */
  readonly gap: number;
  /** Of such a time, in which it worked: what somebody who waits owes to this program alone. */
  readonly busy: number;
}

/** Asks an adapter that was started with `WATCHED`. */
export async function loopGaps(adapter: RunningAdapter): Promise<LoopGaps> {
  const answers = (): Record<string, unknown>[] => adapter.logs().filter(({ probe }) => probe === 'loop');
  const before = answers().length;
  adapter.kill('SIGUSR2');
  const deadline = AbortSignal.timeout(PATIENCE_MS);
  while (!deadline.aborted) {
    const answer = answers()[before];
    if (answer !== undefined) return { gap: Number(answer.gap_ms), busy: Number(answer.busy_ms) };
    await delay(POLL_MS);
  }
  throw new Error(`the event loop of process ${adapter.pid} does not answer within ${PATIENCE_MS} ms`);
}
