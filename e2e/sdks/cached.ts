import { execFile } from 'node:child_process';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

const CACHE = join(homedir(), '.cache', 'sdk-suites');
/** Other processes cannot be awaited. */
const POLL_MS = 200;
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
 * A folder below ~/.cache that is made once, by one process while others wait. `name` has the versions of all that is in it.
 * What was not finished is made anew.
 */
export async function cached(name: string, make: (folder: string) => Promise<void>): Promise<string> {
  const folder = join(CACHE, name);
  const done = join(folder, '.done');
  await mkdir(CACHE, { recursive: true });
  const lock = `${folder}.lock`;
  while (!existsSync(done)) {
    if (!(await taken(lock))) {
      await delay(POLL_MS);
      continue;
    }
    try {
      if (existsSync(done)) break;
      await rm(folder, { recursive: true, force: true });
      await mkdir(folder, { recursive: true });
      await make(folder);
      await writeFile(done, '');
    } finally {
      await rm(lock, { force: true });
    }
  }
  return folder;
}

/** Whether this process has the lock now. That of a process which is gone is taken over. */
async function taken(lock: string): Promise<boolean> {
  try {
    await writeFile(lock, String(process.pid), { flag: 'wx' });
    return true;
  } catch {
    const owner = Number(await readFile(lock, 'utf8').catch(() => ''));
    if (owner > 0 && !isAlive(owner)) await rm(lock, { force: true });
    return false;
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
