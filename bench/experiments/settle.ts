import { setTimeout as sleep } from 'node:timers/promises';
import { residentKib } from '../harness/proc.ts';
import type { RunningTarget } from '../harness/targets.ts';
import type { Trial } from './experiment.ts';

/** Resident memory in KiB once all garbage is collected: what the target holds on to. */
export async function heldKib(bench: Trial, target: Pick<RunningTarget, 'collectGarbage' | 'pids'>): Promise<number> {
  // Work that was still going on may have left garbage during the first collection.
  await target.collectGarbage();
  await settledKib(bench, target.pids);
  await target.collectGarbage();
  return settledKib(bench, target.pids);
}

/**
 * Waits until resident memory has hardly moved for some seconds, so that what the garbage collector gives back when a
 * process falls idle is given back. Ends after `limitSeconds` at the latest.
 * @returns resident memory in KiB
 */
export async function settledKib(bench: Trial, pids: readonly number[]): Promise<number> {
  const [window, limitSeconds] = bench.options.quick ? [4, 8] : [8, 20];
  const seen: number[] = [residentKib(pids).now];
  for (let half = 0; half < 2 * limitSeconds; half++) {
    await sleep(500, undefined, { signal: bench.signal });
    seen.push(residentKib(pids).now);
    const recent = seen.slice(-window);
    if (recent.length === window && Math.max(...recent) - Math.min(...recent) <= 0.003 * Math.max(...recent)) break;
  }
  return seen.at(-1) ?? Number.NaN;
}
