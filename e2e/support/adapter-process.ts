import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { freePort } from './ports.ts';
import { describe, type Exit, type RunningProcess, startProcess } from './processes.ts';

const MAIN = fileURLToPath(new URL('../../adapter/main.ts', import.meta.url));
const LIVE_TIMEOUT_MS = 20_000;
const POLL_MS = 20;

export interface AdapterOptions {
  /**
   * The configuration file: its text, written as it is, or an object. In an object `core.host` is 127.0.0.1 and
   * `core.port` is `port` (or a free one) unless they are given.
   */
  readonly config: string | Record<string, unknown>;
  /** Variables for `${VAR}` in the configuration; nothing else of this process's environment gets through. */
  readonly env?: NodeJS.ProcessEnv;
  /** The port for an object; for a text it is read from `core.port`. */
  readonly port?: number;
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
  const { text, port } = await prepare(options);
  const running = await launch(text, options.env);
  const url = `http://127.0.0.1:${port}`;
  const adapter: RunningAdapter = Object.assign(running, { port, url, logs: () => parseLog(running.stdout()) });
  try {
    await waitUntilLive(adapter);
  } catch (error) {
    adapter.kill();
    await adapter.exited;
    throw error;
  }
  return adapter;
}

/** Runs the adapter until it ends by itself, for configurations that it must refuse. Rejects after 20 s. */
export async function runAdapter(options: AdapterOptions): Promise<Exit & { stdout: string; stderr: string }> {
  const running = await launch((await prepare(options)).text, options.env);
  const exit = await running.exitsWithin(LIVE_TIMEOUT_MS);
  if (exit === undefined) {
    running.kill();
    await running.exited;
    throw new Error(`still running after ${LIVE_TIMEOUT_MS} ms, output ${describe('the adapter', running)}`);
  }
  return { ...exit, stdout: running.stdout(), stderr: running.stderr() };
}

async function prepare({ config, port }: AdapterOptions): Promise<{ text: string; port: number }> {
  const document: unknown = typeof config === 'string' ? safeParse(config) : config;
  const core = isObject(document) && isObject(document.core) ? document.core : {};
  if (typeof config === 'string') return { text: config, port: port ?? numberOr(core.port, 8932) };
  const chosen = port ?? (typeof core.port === 'number' ? core.port : await freePort());
  const text = JSON.stringify({ ...config, core: { host: '127.0.0.1', ...core, port: chosen } }, null, 2);
  return { text, port: chosen };
}

async function launch(text: string, env: NodeJS.ProcessEnv | undefined): Promise<RunningProcess> {
  const folder = await mkdtemp(join(tmpdir(), 'adapter-config-'));
  const file = join(folder, 'config.yaml');
  await writeFile(file, text);
  const running = startProcess(process.execPath, [MAIN, '--config', file], env);
  void running.exited.then(() => rm(folder, { recursive: true, force: true }));
  return running;
}

async function waitUntilLive(adapter: RunningAdapter): Promise<void> {
  const deadline = AbortSignal.timeout(LIVE_TIMEOUT_MS);
  while (!adapter.hasExited() && !deadline.aborted) {
    const response = await fetch(`${adapter.url}/livez`, { signal: deadline }).catch(() => undefined);
    await response?.body?.cancel();
    if (response?.status === 200) return;
    await delay(POLL_MS);
  }
  const problem = adapter.hasExited() ? 'ended' : 'gave no 200 at /livez';
  throw new Error(`the adapter ${problem} during start, output ${describe('it', adapter)}`);
}

function parseLog(stdout: string): Record<string, unknown>[] {
  return stdout.split('\n').flatMap((line) => {
    if (!line.startsWith('{')) return [];
    const entry: unknown = safeParse(line);
    return isObject(entry) ? [entry] : [];
  });
}

/** YAML or JSON; a text that is neither is what a test of the adapter's error messages may want. */
function safeParse(text: string): unknown {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}

const numberOr = (value: unknown, fallback: number): number => (typeof value === 'number' ? value : fallback);

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
