import { compileEngine } from '../sandbox/compile-engine.ts';
import { SANDBOX_LIMITS, type SandboxLimits } from '../sandbox/sandbox-limits.ts';
import type { CodeEnd } from '../sandbox/sandbox-messages.ts';
import { SandboxVm, type VmState } from '../sandbox/sandbox-vm.ts';

let engine: Promise<object> | undefined;

/**
 * How code that makes no calls ends: in an engine of its own, as in a run, but on this thread, whose start would cost ten
 * times as much.
 */
async function endOf(code: string, limits: Partial<SandboxLimits> = {}): Promise<VmState> {
  engine ??= compileEngine();
  let decided: CodeEnd | undefined;
  const vm = await SandboxVm.create(
    await engine,
    { ...SANDBOX_LIMITS, ...limits },
    {
      call: () => {
        throw new Error('nobody answers calls here');
      },
      console: () => {},
      cpuMs: () => process.threadCpuUsage().user / 1000,
      tick: () => {},
      decided: (end) => (decided = end),
    },
  );
  const state = vm.start(code);
  return decided ?? state;
}

/** What the code returned, as a value. */
export async function vmValueOf(code: string): Promise<unknown> {
  const end = await endOf(code);
  if (end.kind !== 'returned') throw new Error(textOf(end));
  return end.value === undefined ? undefined : JSON.parse(end.value);
}

/** `reason: message` of code that failed. */
export async function vmFailureOf(code: string, limits?: Partial<SandboxLimits>): Promise<string> {
  return textOf(await endOf(code, limits));
}

function textOf(end: VmState): string {
  if (end.kind === 'failed') return `${end.reason}: ${end.message}`;
  return end.kind === 'returned' ? `returned ${end.value}` : 'waits';
}
