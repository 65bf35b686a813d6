import { fork } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export interface Program {
  /** The first match among the lines of stdout. Rejects when the program ends first, or after 15 s. */
  readonly ready: Promise<RegExpMatchArray>;
  /** How it ended, in words. Never rejects. */
  readonly ended: Promise<string>;
  /** SIGTERM, and SIGKILL when it still runs after `graceMs`. Resolves when it has ended. */
  stop(graceMs: number): Promise<void>;
}

const READY_TIMEOUT_MS = 15_000;
const WITH_PARENT = fileURLToPath(new URL('end-with-parent.ts', import.meta.url));

/**
 * Runs one of our programs; its lines, of both outputs, go to `onLine`. It has a process group of its own, so that
 * Ctrl-C reaches only this process, which then ends its programs in the right order.
 */
export function startProgram(options: {
  readonly args: readonly [file: string, ...args: string[]];
  readonly env: NodeJS.ProcessEnv;
  readonly ready: RegExp;
  readonly onLine: (line: string) => void;
}): Program {
  const [file, ...args] = options.args;
  const child = fork(file, args, {
    env: options.env,
    execArgv: ['--import', WITH_PARENT],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    detached: true,
  });
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => resolve(signal === null ? `exit code ${code}` : `signal ${signal}`));
  });
  const { promise: ready, resolve, reject } = Promise.withResolvers<RegExpMatchArray>();
  const timeout = setTimeout(() => reject(new Error(`${file} is not ready after 15 s`)), READY_TIMEOUT_MS);
  void ended.then((how) => reject(new Error(`${file} ended before it was ready: ${how}`)));
  ready.then(
    () => clearTimeout(timeout),
    () => clearTimeout(timeout),
  );
  for (const output of [child.stdout, child.stderr]) {
    if (output === null) continue;
    createInterface({ input: output }).on('line', (line) => {
      const match = line.match(options.ready);
      if (match !== null) resolve(match);
      options.onLine(line);
    });
  }
  return {
    ready,
    ended,
    async stop(graceMs) {
      child.kill('SIGTERM');
      const patience = setTimeout(() => child.kill('SIGKILL'), graceMs);
      await ended;
      clearTimeout(patience);
    },
  };
}
