import { runsOfMachine } from './runs-of-machine.ts';
import { SANDBOX_LIMITS } from './sandbox-limits.ts';
import { Sandbox } from './sandbox.ts';

/** A sandbox for as many runs as the machine has room for. `maxInFlight`: calls of a session at a time, null for any. */
export function createSandbox(
  maxInFlight: number | null,
  machine: { readonly cores: number; readonly memoryBytes: number },
): Sandbox {
  const { parallelCalls } = SANDBOX_LIMITS;
  return new Sandbox({
    // Calls that are more than a session may have at a time wait for each other and do not fail.
    limits: { ...SANDBOX_LIMITS, parallelCalls: Math.min(parallelCalls, maxInFlight ?? parallelCalls) },
    maxRunning: runsOfMachine(machine, SANDBOX_LIMITS),
  });
}
