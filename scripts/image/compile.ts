/** `npm run build`: `node scripts/image/compile.ts FOLDER` compiles the programs, and puts the Lua scripts beside them. */
import { cp } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { ROOT, runCommand } from '../suite/command.ts';
import { luaFolders } from './lua-folders.ts';

const COMPILE_MS = 120_000;

/** @param options further ones of tsc */
export async function compile(folder: string, options: readonly string[] = []): Promise<void> {
  const tsc = [process.execPath, join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.build.json'];
  const { signal } = new AbortController();
  const { ok, output } = await runCommand([...tsc, '--outDir', folder, ...options], { timeoutMs: COMPILE_MS, signal });
  if (!ok) throw new Error(`the programs do not compile:\n${output}`);
  for (const lua of luaFolders()) await cp(join(ROOT, lua), join(folder, lua), { recursive: true });
}

if (import.meta.main) {
  const [folder] = process.argv.slice(2);
  if (folder === undefined) {
    console.error('Usage: node scripts/image/compile.ts FOLDER');
    process.exit(2);
  }
  await compile(resolve(folder));
}
