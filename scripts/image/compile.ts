/**
 * `npm run build`: `node scripts/image/compile.ts FOLDER` makes JavaScript of the programs, a folder for each: `main.js`, the
 * threads that it starts, what they share, and the Lua scripts.
 */
import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { bundle, writeBundle } from './bundle.ts';
import { luaFolders } from './lua-folders.ts';

/** Files that Node is told to run, by the names that they get in their program's folder. */
const PROGRAMS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  adapter: { main: 'adapter/main.ts', 'sandbox-worker': 'adapter/code-mode/sandbox/sandbox-worker.ts' },
  scraper: { main: 'scraper/main.ts' },
  operator: {
    main: 'operator/main.ts',
    'plugin/main': 'operator/plugin/main.ts',
    'task-worker': 'operator/task-worker.ts',
    'end-with-parent': 'operator/local/end-with-parent.ts',
  },
};

/** What stood in the folders of the programs is gone. */
export async function compile(folder: string): Promise<void> {
  const lua = luaFolders();
  for (const [program, input] of Object.entries(PROGRAMS)) {
    const scripts = lua.filter((path) => path.startsWith(`${program}/`));
    const files = await bundle(input, scripts);
    await rm(join(folder, program), { recursive: true, force: true });
    writeBundle(join(folder, program), files);
  }
}

if (import.meta.main) {
  const [folder] = process.argv.slice(2);
  if (folder === undefined) {
    console.error('Usage: node scripts/image/compile.ts FOLDER');
    process.exit(2);
  }
  await compile(resolve(folder));
}
