import { readFileSync } from 'node:fs';

import { SANDBOX_LIMITS, type SandboxLimits } from '../sandbox/sandbox-limits.ts';
import { type CallTool, Sandbox, type SandboxOutcome } from '../sandbox/sandbox.ts';

const MIB = 1_048_576;

/** Short, so that tests of limits are short; the other limits are the usual ones. */
export const SHORT: Partial<SandboxLimits> = { computeMs: 250, memoryBytes: 24 * MIB };

export interface KitOptions {
  readonly limits?: Partial<SandboxLimits>;
  readonly callTool?: CallTool;
  readonly signal?: AbortSignal;
}

/** Answers with what it was asked. */
export const echo: CallTool = (name, args) => Promise.resolve(JSON.stringify({ name, args }));

/** One for all runs with the same limits. */
const sandboxes = new Map<string, Sandbox>();

export async function runCode(code: string, options: KitOptions = {}): Promise<SandboxOutcome> {
  const { limits = {}, callTool = echo, signal = new AbortController().signal } = options;
  const key = JSON.stringify(limits);
  const sandbox = sandboxes.get(key) ?? new Sandbox({ limits: { ...SANDBOX_LIMITS, ...limits }, maxRunning: 2 });
  sandboxes.set(key, sandbox);
  return await sandbox.run({ code, callTool, signal });
}

/** What the code returned, as a value. */
export async function valueOf(code: string, options: KitOptions = {}): Promise<unknown> {
  const outcome = await runCode(code, options);
  if (outcome.kind === 'failed') throw new Error(`${outcome.reason}: ${outcome.message}`);
  return outcome.value === undefined ? undefined : JSON.parse(outcome.value);
}

/** `reason: message` of a run that failed. */
export async function failureOf(code: string, options: KitOptions = {}): Promise<string> {
  const outcome = await runCode(code, options);
  return outcome.kind === 'failed' ? `${outcome.reason}: ${outcome.message}` : `returned ${outcome.value}`;
}

/**
 * The longest time that this process's event loop stood still meanwhile, in milliseconds: without the time in which its
 * thread was ready but other processes had all cores, where the system tells that (Linux).
 */
export async function blockedDuring<T>(
  run: () => Promise<T>,
): Promise<{ readonly result: T; readonly blockedMs: number }> {
  let longest = 0;
  let last = clocks();
  const look = (): void => {
    const now = clocks();
    longest = Math.max(longest, now.at - last.at - (now.waited - last.waited));
    last = now;
  };
  const timer = setInterval(look, 1);
  const result = await run();
  clearInterval(timer);
  look();
  return { result, blockedMs: longest };
}

function clocks(): { readonly at: number; readonly waited: number } {
  let waited = 0;
  try {
    const [, nanoseconds] = readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ');
    waited = Number(nanoseconds) / 1e6;
  } catch {
    // Another system.
  }
  return { at: performance.now(), waited };
}
