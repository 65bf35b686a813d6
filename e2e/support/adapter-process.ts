import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describe, type Exit, type RunningProcess, startProcess } from './processes.ts';
import { programPath } from './programs/program-path.ts';

const MAIN = programPath(fileURLToPath(new URL('../../adapter/main.ts', import.meta.url)));
const START_TIMEOUT_MS = 60_000;
const POLL_MS = 20;

export interface AdapterOptions {
  /**
   * The configuration file: its text, written as it is, or an object, in which `core.host` is 127.0.0.1 by default,
   * `core.shutdown_grace_seconds` 0, and `storage.root` a folder that goes with the process.
   */
  readonly config: string | Record<string, unknown>;
  /** Variables for `${VAR}` in the configuration; nothing else of this process's environment gets through. */
  readonly env?: NodeJS.ProcessEnv;
  /** Instead of `core.port`. Default: 0, a free one. Name it to start a replica again where it was. */
  readonly port?: number;
  /** More arguments for the command line. */
  readonly args?: readonly string[];
}

export interface RunningAdapter extends RunningProcess {
  readonly port: number;
  /** `http://127.0.0.1:<port>`, without a slash at the end. */
  readonly url: string;
  /** The log so far, one object per line. Lines that are not JSON are left out. */
  logs(): Record<string, unknown>[];
}

/** Starts one replica and resolves when `GET /livez` answers 200. Rejects with its output when it does not come up. */
export async function startAdapter(options: AdapterOptions): Promise<RunningAdapter> {
  const running = await launch(options);
  try {
    const listening = await running.waitForStdout(/"msg":"listening","url":"http:\/\/[^"]*:(\d+)"/, START_TIMEOUT_MS);
    const port = Number(listening[1]);
    const url = `http://127.0.0.1:${port}`;
    await waitUntilLive(running, url);
    return Object.assign(running, { port, url, logs: () => parseLog(running.stdout()) });
  } catch (error) {
    running.kill();
    await running.exited;
    throw error;
  }
}

/** Runs the adapter until it ends by itself, for configurations that it must refuse. Rejects after a minute. */
export async function runAdapter(options: AdapterOptions): Promise<Exit & { stdout: string; stderr: string }> {
  const running = await launch(options);
  const exit = await running.exitsWithin(START_TIMEOUT_MS);
  if (exit === undefined) {
    running.kill();
    await running.exited;
    throw new Error(`still running after ${START_TIMEOUT_MS} ms, output ${describe('the adapter', running)}`);
  }
  return { ...exit, stdout: running.stdout(), stderr: running.stderr() };
}

async function launch({ config, env, port = 0, args: more = [] }: AdapterOptions): Promise<RunningProcess> {
  const folder = await mkdtemp(join(tmpdir(), 'adapter-config-'));
  const file = join(folder, 'config.yaml');
  const text = typeof config === 'string' ? config : JSON.stringify(withDefaults(config, folder), null, 2);
  await writeFile(file, text);
  const args = [MAIN, '--config', file, '--host', '127.0.0.1', '--port', String(port), ...more];
  const running = startProcess(process.execPath, args, env);
  void running.exited.then(() => rm(folder, { recursive: true, force: true }));
  return running;
}

const withDefaults = (config: Record<string, unknown>, folder: string): Record<string, unknown> => ({
  ...config,
  // Else each stop waits for the connections that the tests' clients keep open.
  core: { host: '127.0.0.1', shutdown_grace_seconds: 0, ...(typeof config.core === 'object' ? config.core : {}) },
  storage: { root: join(folder, 'storage'), ...(typeof config.storage === 'object' ? config.storage : {}) },
});

async function waitUntilLive(running: RunningProcess, url: string): Promise<void> {
  const deadline = AbortSignal.timeout(START_TIMEOUT_MS);
  while (!running.hasExited() && !deadline.aborted) {
    const response = await fetch(`${url}/livez`, { signal: deadline }).catch(() => undefined);
    await response?.body?.cancel();
    if (response?.status === 200) return;
    await delay(POLL_MS);
  }
  const problem = running.hasExited() ? 'ended' : 'gave no 200 at /livez';
  throw new Error(`it ${problem} during start, output ${describe('the adapter', running)}`);
}

function parseLog(stdout: string): Record<string, unknown>[] {
  return stdout.split('\n').flatMap((line) => {
    if (!line.startsWith('{')) return [];
    try {
      const entry: unknown = JSON.parse(line);
      return typeof entry === 'object' && entry !== null ? [{ ...entry }] : [];
    } catch {
      return []; // The last line may be incomplete yet.
    }
  });
}
