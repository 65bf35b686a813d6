import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { relative } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { searchOutput } from './secrets/search.ts';

/** How a process ended: by itself with a code, or by a signal. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface RunningProcess extends AsyncDisposable {
  readonly pid: number;
  /** Resolves once, when the process has ended and its output is complete. Never rejects. */
  readonly exited: Promise<Exit>;
  hasExited(): boolean;
  /** Waits for the end, but not longer: undefined when it still runs then. */
  exitsWithin(timeoutMs: number): Promise<Exit | undefined>;
  /** All that it has written so far. */
  stdout(): string;
  stderr(): string;
  /** The first match in stdout, also when it is already there. Rejects when the process ends or time runs out first. */
  waitForStdout(pattern: RegExp, timeoutMs?: number): Promise<RegExpMatchArray>;
  /** Sends a signal and does not wait. Default: SIGKILL, the crash of a replica. */
  kill(signal?: NodeJS.Signals): void;
  /** SIGTERM, then SIGKILL if that takes longer than `graceMs` (default 10 s). Harmless when it has ended already. */
  stop(graceMs?: number): Promise<Exit>;
}

/** A program that starts while all suites run was seen to need more than 15 s. */
const OUTPUT_TIMEOUT_MS = 60_000;
const GRACE_MS = 10_000;

const alive = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of alive) child.kill('SIGKILL');
});

/**
 * Starts a program. It does not outlive this process, and it sees only PATH, HOME and TMPDIR of the environment,
 * plus `env`, so that the settings of a developer's shell or of the test runner do not change what is tested. It shares
 * what Node has compiled with the others (vitest.config.ts).
 */
export function startProcess(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): RunningProcess {
  const { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(command, args, {
    env: { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  const searched = searchOutput(nameOf(command, args));
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    searched?.(text);
  });
  const searchedErrors = searched && searchOutput(`errors of ${nameOf(command, args)}`);
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
    searchedErrors?.(text);
  });

  alive.add(child);
  let ended = false;
  const exited = new Promise<Exit>((resolve) => {
    child.on('error', (error) => (stderr += `${command}: ${error.message}\n`));
    child.on('close', (code, signal) => {
      ended = true;
      alive.delete(child);
      resolve({ code, signal });
    });
  });

  const running: RunningProcess = {
    // A command that cannot be started has no pid; `exited` then resolves with the reason in stderr.
    pid: child.pid ?? -1,
    exited,
    hasExited: () => ended,
    async exitsWithin(timeoutMs) {
      const patience = new AbortController();
      const exit = await Promise.race([exited, delay(timeoutMs, undefined, { signal: patience.signal })]);
      patience.abort();
      return exit;
    },
    stdout: () => stdout,
    stderr: () => stderr,
    async waitForStdout(pattern, timeoutMs = OUTPUT_TIMEOUT_MS) {
      const signal = AbortSignal.timeout(timeoutMs);
      for (;;) {
        const match = stdout.match(pattern);
        if (match !== null) return match;
        if (ended || signal.aborted) throw new Error(`no ${String(pattern)} ${describe(command, running)}`);
        await Promise.race([once(child.stdout, 'data', { signal }), exited]).catch(() => undefined);
      }
    },
    kill: (signal = 'SIGKILL') => void child.kill(signal),
    async stop(graceMs = GRACE_MS) {
      child.kill('SIGTERM');
      const exit = await running.exitsWithin(graceMs);
      if (exit !== undefined) return exit;
      child.kill('SIGKILL');
      return await exited;
    },
    async [Symbol.asyncDispose]() {
      await running.stop();
    },
  };
  return running;
}

/** A program and its first argument, which is what node runs. */
const nameOf = (command: string, [first = '']: readonly string[]): string =>
  [command, first].map((part) => (part.startsWith('/') ? relative(process.cwd(), part) : part)).join(' ');

/** For error messages: what the process wrote, which says why it does not do what is awaited. */
export function describe(name: string, running: RunningProcess): string {
  return `from ${name} (pid ${running.pid})\nstdout: ${running.stdout()}\nstderr: ${running.stderr()}`;
}
