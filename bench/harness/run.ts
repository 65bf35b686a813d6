import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, release, tmpdir, totalmem } from 'node:os';
import { join, resolve } from 'node:path';
import type { Bench } from './bench.ts';
import { allowedCores, divideCores } from './proc.ts';
import { Processes } from './processes.ts';
import { buildLoadGenerator, buildProject, onPath, pinSelf } from './setup.ts';

/**
 * Sets everything up, does the work, and takes everything down again, also when it is interrupted or fails.
 * @returns the exit code
 */
export async function runBench(options: {
  /** The project must be built first. */
  readonly build: boolean;
  /** Gives the exit code. */
  readonly work: (bench: Bench) => Promise<number>;
}): Promise<number> {
  const root = resolve(import.meta.dirname, '../..');
  const interruption = new AbortController();
  let interruptedAt = Number.NaN;
  const interrupt = (): void => {
    // The terminal and npm, or timeout(1) and its group, may each send the same signal: only a later one is impatience.
    if (performance.now() - interruptedAt > 1000) process.exit(130);
    if (Number.isNaN(interruptedAt)) interruptedAt = performance.now();
    interruption.abort(new Error('interrupted'));
  };
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt);
  const folder = mkdtempSync(join(tmpdir(), 'bench-'));
  const processes = new Processes(folder);
  const removeFolder = (): void => rmSync(folder, { recursive: true, force: true });
  process.on('exit', removeFolder);
  const started = performance.now();
  const progress = (line: string): void => {
    console.log(`${((performance.now() - started) / 1000).toFixed(0).padStart(5)} s  ${line}`);
  };
  try {
    const { signal } = interruption;
    progress('building the load generator');
    await buildLoadGenerator(root, signal);
    if (options.build) progress('building the project');
    const builtAbsent = options.build ? await buildProject(root, signal) : undefined;
    const cores = onPath('taskset') ? divideCores(allowedCores()) : divideCores([]);
    if (cores.load === undefined) progress('not pinned: that takes two cores and taskset; expect noise');
    else await pinSelf(cores.load);
    return await options.work({ cores, processes, folder, signal, root, builtAbsent, progress });
  } catch (error) {
    if (interruption.signal.aborted) {
      console.error('interrupted');
      return 130;
    }
    console.error(error instanceof Error ? error.message : String(error));
    return 1;
  } finally {
    await processes.stopAll();
    removeFolder();
    process.off('exit', removeFolder);
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
  }
}

/** What the numbers depend on. */
export function describeMachine(): Readonly<Record<string, unknown>> {
  return {
    at: new Date().toISOString(),
    cpu: cpus()[0]?.model,
    cores: cpus().length,
    memoryGib: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    node: process.version,
  };
}
