import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Compiles the load generator; a second time it is only checked. */
export async function buildLoadGenerator(root: string, signal: AbortSignal): Promise<void> {
  const cwd = join(root, 'bench/loadgen');
  // GOTOOLCHAIN: never fetch another Go. GOFLAGS: the user's must not change what is measured.
  const env = { ...process.env, GOTOOLCHAIN: 'local', GOFLAGS: '', GOWORK: 'off' };
  await run('go', ['build', '-o', 'bin/loadgen', '.'], { cwd, env, signal, timeout: 180_000 });
}

/** Compiles the project, and tells why the built adapter cannot be measured, if it cannot. */
export async function buildProject(root: string, signal: AbortSignal): Promise<string | undefined> {
  try {
    await run('npm', ['run', '--silent', 'build'], { cwd: root, signal, timeout: 300_000 });
  } catch {
    signal.throwIfAborted();
    return '`npm run build` fails';
  }
  return existsSync(join(root, 'dist/adapter/main.js')) ? undefined : '`npm run build` makes no dist/adapter/main.js';
}

/** Whether a program can be found. */
export function onPath(program: string, path = process.env.PATH ?? ''): boolean {
  return path.split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** Holds this process, with all its threads, to one core, so that it never runs on the target's. */
export async function pinSelf(core: number): Promise<void> {
  await run('taskset', ['-a', '-p', '-c', String(core), String(process.pid)], { timeout: 10_000 });
}
