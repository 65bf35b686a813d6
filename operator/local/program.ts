import { fork, spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A process that runs, or ran. */
export interface Program {
  /** How it ended, in words. Never rejects. */
  readonly ended: Promise<string>;
  /** SIGTERM, and SIGKILL when it still runs after `graceMs`. Resolves when it has ended. */
  stop(graceMs: number): Promise<void>;
}

const SELF = fileURLToPath(import.meta.url);
/** `.ts` among the sources, `.js` in a build. */
const EXTENSION = extname(SELF);
const WITH_PARENT = fileURLToPath(new URL(`end-with-parent${EXTENSION}`, import.meta.url));

/** The programs of the image, which lie beside this one. */
const OURS: Readonly<Record<string, string>> = {
  'mcp-adapter': '../../adapter/main',
  'otel-api-scraper': '../../scraper/main',
  'mcp-demo-server': '../../examples/quickstart/upstream',
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

function start(
  [name = '', ...args]: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd: string | undefined,
): ChildProcess {
  const ours = OURS[name];
  if (ours === undefined) return spawn(name, args, { env, cwd, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  return fork(fileURLToPath(new URL(`${ours}${EXTENSION}`, import.meta.url)), args, {
    env,
    cwd,
    execArgv: ['--import', WITH_PARENT],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    detached: true,
  });
}
