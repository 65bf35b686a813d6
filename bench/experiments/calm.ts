import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { busySeconds } from '../harness/proc.ts';
import type { Sample } from '../samples.ts';
import type { Trial } from './experiment.ts';

/** A sample is calm while work that is not ours takes less than this many cores. */
const calmLimit = 0.12;
/** How often a disturbed sample is repeated. */
const repeats = 2;

/** A sample as it was taken, and the cores that other work had meanwhile. */
export interface Taken {
  readonly sample: Omit<Sample, 'calm'>;
  readonly foreignCores: number;
}

/**
 * Takes a sample when the machine is quiet, again when it was disturbed all the same, and gives the least disturbed one.
 *
 * @param take is called one to three times
 */
export async function takeCalmly(bench: Trial, take: (attempt: number) => Promise<Taken>): Promise<Sample> {
  let best: Taken | undefined;
  for (let attempt = 0; attempt <= repeats; attempt++) {
    await untilQuiet(bench.options.quick ? 2 : 10, bench.signal);
    const taken = await take(attempt);
    if (best === undefined || taken.foreignCores < best.foreignCores) best = taken;
    if (isCalm(taken)) break;
  }
  if (best === undefined) throw new Error('no sample');
  const details = { ...best.sample.details, foreignCores: best.foreignCores };
  return { ...best.sample, details, calm: isCalm(best) };
}

export function isCalm({ foreignCores }: Pick<Taken, 'foreignCores'>): boolean {
  return foreignCores <= calmLimit;
}

/** Waits until the machine has been idle for a moment, or for as long as given. */
async function untilQuiet(limitSeconds: number, signal: AbortSignal): Promise<void> {
  for (let waited = 0; waited < limitSeconds; waited += 0.2) {
    const before = machineBusySeconds();
    await sleep(200, undefined, { signal });
    if (machineBusySeconds() - before <= 0.03) return;
  }
}

/** CPU seconds of all cores since boot. */
export function machineBusySeconds(): number {
  return busySeconds(readFileSync('/proc/stat', 'utf8'));
}
