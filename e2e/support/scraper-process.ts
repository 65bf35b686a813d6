import { fileURLToPath } from 'node:url';
import { type Exit, type RunningProcess, startProcess } from './processes.ts';
import { programPath } from './programs/program-path.ts';

const MAIN = programPath(fileURLToPath(new URL('../../scraper/main.ts', import.meta.url)));
const START_TIMEOUT_MS = 20_000;

export interface RunningScraper extends RunningProcess {
  /** `http://127.0.0.1:<port>`, without a slash at the end. */
  readonly url: string;
}

/** Starts the scraper with a configuration file and resolves when its port is open. */
export async function startScraper(
  file: string,
  { args = [], env }: { args?: readonly string[]; env?: NodeJS.ProcessEnv } = {},
): Promise<RunningScraper> {
  const all = [MAIN, '--config', file, '--host', '127.0.0.1', '--port', '0', ...args];
  const running = startProcess(process.execPath, all, env);
  const [, url = ''] = await running.waitForStdout(/"msg":"listening","url":"([^"]+)"/, START_TIMEOUT_MS);
  return Object.assign(running, { url });
}

/** Runs the scraper until it ends by itself. Rejects after 20 s. */
export async function runScraper(
  args: readonly string[],
  env?: NodeJS.ProcessEnv,
): Promise<Exit & { stdout: string; stderr: string }> {
  await using running = startProcess(process.execPath, [MAIN, ...args], env);
  const exit = await running.exitsWithin(START_TIMEOUT_MS);
  if (exit === undefined) throw new Error(`still running after ${START_TIMEOUT_MS} ms: ${running.stderr()}`);
  return { ...exit, stdout: running.stdout(), stderr: running.stderr() };
}
