import type { SandboxLimits } from './sandbox-limits.ts';

const MOST = 8;
const LEAST = 2;

/**
 * How many runs of code at a time this machine has room for: two for each core, because most of their time they wait for
 * calls, and no more than half of the memory holds. `memoryBytes` is what the process may use, 0 where that is not known.
 */
export function runsOfMachine(
  machine: { readonly cores: number; readonly memoryBytes: number },
  limits: Pick<SandboxLimits, 'memoryBytes'>,
): number {
  const byCores = Math.max(LEAST, Math.min(MOST, 2 * machine.cores));
  if (machine.memoryBytes === 0) return byCores;
  return Math.max(1, Math.min(byCores, Math.floor(machine.memoryBytes / 2 / limits.memoryBytes)));
}
