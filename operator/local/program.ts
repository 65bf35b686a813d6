import { fork, spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';

import { ownProgram } from '../../lib/own-program.ts';

/** A process that runs, or ran. */
export interface Program {
  /** How it ended, in words. Never rejects. */
  readonly ended: Promise<string>;
  /** SIGTERM, and SIGKILL when it still runs after `graceMs`. Resolves when it has ended. */
  stop(graceMs: number): Promise<void>;
}

const WITH_PARENT = ownProgram('end-with-parent', import.meta.url);

/** The programs of the image. */
const OURS: Readonly<Record<string, string>> = {
  'mcp-adapter': 'adapter/main',
  'otel-api-scraper': 'scraper/main',
  'mcp-demo-server': 'examples/quickstart/upstream',
};

/**
 * Runs a command; its lines, of both outputs, go to `onLine`. It has a process group of its own, so that Ctrl-C reaches
 * only this process, which then ends its programs in the right order.
 */
export function startProgram(options: {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly folder: string | undefined;
  readonly onLine: (line: string) => void;
}): Program {
  const child = start(options.command, options.env, options.folder);
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => resolve(signal === null ? `exit code ${code}` : `signal ${signal}`));
  });
  for (const output of [child.stdout, child.stderr]) {
    if (output !== null) createInterface({ input: output }).on('line', options.onLine);
  }
  return {
    ended,
    async stop(graceMs) {
      child.kill('SIGTERM');
      const patience = setTimeout(() => child.kill('SIGKILL'), graceMs);
      await ended;
      clearTimeout(patience);
    },
  };
}

/**
 * Runs a program of ours with the terminal, or whatever the outputs are; it does not outlive this process.
 * @returns its exit code; undefined where it had to be ended
 */
export async function runProgram(
  [name = '', ...args]: readonly string[],
  env: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<number | undefined> {
  const child = fork(ownProgram(OURS[name] ?? name, import.meta.url), args, {
    env,
    execArgv: ['--import', WITH_PARENT],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const stop = (): void => void child.kill('SIGTERM');
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  child.once('error', reject);
  child.once('close', (code) => resolve(code ?? undefined));
  return await promise.finally(() => signal.removeEventListener('abort', stop));
}

function start(
  [name = '', ...args]: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd: string | undefined,
): ChildProcess {
  const ours = OURS[name];
  if (ours === undefined) return spawn(name, args, { env, cwd, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  return fork(ownProgram(ours, import.meta.url), args, {
    env,
    cwd,
    execArgv: ['--import', WITH_PARENT],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    detached: true,
  });
}

/** What programs need of the machine. Nothing else of the environment reaches them. */
export function inherited(): Record<string, string> {
  const { PATH = '', HOME = '', TMPDIR } = process.env;
  return { PATH, HOME, ...(TMPDIR === undefined ? {} : { TMPDIR }) };
}
