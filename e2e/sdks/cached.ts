import { execFile } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const CACHE = join(homedir(), '.cache', 'sdk-suites');
const run = promisify(execFile);

/** Runs a program to its end, for two minutes at most. Rejects with what it said. */
export async function runs(file: string, args: readonly string[], cwd?: string): Promise<string> {
  const { stdout } = await run(file, args, { cwd, timeout: 120_000, maxBuffer: 64 << 20 });
  return stdout;
}

/** Why a program cannot be run here; undefined when it can. */
export async function missing(program: string, ...args: string[]): Promise<string | undefined> {
  return runs(program, args).then(
    () => undefined,
    (error: unknown) => `${program} cannot be run: ${String(error).slice(0, 200)}`,
  );
}

/**
 * A folder below ~/.cache that is made once. `name` has the versions of all that is in it. What was not finished is
 * made anew.
 */
export async function cached(name: string, make: (folder: string) => Promise<void>): Promise<string> {
  const folder = join(CACHE, name);
  const done = join(folder, '.done');
  if (existsSync(done)) return folder;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await make(folder);
  await writeFile(done, '');
  return folder;
}
