/**
 * Before the suite e2e: bundles the programs that it starts most. To start an adapter Node reads 1,300 files
 * from its sources and a dozen from the bundle, which saves half of the processor's time. `quickstart/` and the
 * suite heavy start the sources, as users do.
 */
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { rolldown } from 'rolldown';
import type { TestProject } from 'vitest/node';
import { luaFolders } from '../../../scripts/image/lua-folders.ts';
import { BUNDLED, PROGRAMS, ROOT } from './program-path.ts';

/** Below the project, so that programs find what they load from packages. */
const CACHE = join(ROOT, 'node_modules/.cache/test-programs');
/**
 * What a bundle would have a copy of that others do not meet: tests set the clock of ioredis before a program starts
 * (`files/kit/clock.ts`), and OpenTelemetry loads gRPC only when it exports.
 */
const PACKAGES = ['ioredis', '@grpc/grpc-js'];
/** No run lasts as long. */
const KEPT_MS = 24 * 60 * 60_000;

export async function setup({ config }: TestProject): Promise<void> {
  // What is changed then is not bundled again.
  if (config.watch) return;
  const input = Object.fromEntries(Object.entries(BUNDLED).map(([name, path]) => [name, join(ROOT, path)]));
  await using build = await rolldown({ input, external: PACKAGES, cwd: ROOT, platform: 'node', logLevel: 'silent' });
  const { output } = await build.generate({ format: 'esm', chunkFileNames: '[name]-[hash].js' });
  const code = new Map(output.flatMap((file) => (file.type === 'chunk' ? [[file.fileName, file.code] as const] : [])));
  addScripts(code);
  process.env[PROGRAMS] = stored(code);
}

/** All modules stand in one folder here, and so must the Lua scripts that they look for beside themselves. */
function addScripts(code: Map<string, string>): void {
  for (const folder of luaFolders()) {
    for (const file of globSync('**/*.lua', { cwd: join(ROOT, folder) }).sort()) {
      const name = `lua/${file}`;
      if (code.has(name)) throw new Error(`two programs have a script ${file}`);
      code.set(name, readFileSync(join(ROOT, folder, file), 'utf8'));
    }
  }
}

/** Named after what they hold: runs of the same sources share what Node compiles, and runs of others do not meet. */
function stored(code: ReadonlyMap<string, string>): string {
  const manifest = readFileSync(join(ROOT, 'package.json'), 'utf8');
  const hash = createHash('sha256').update(JSON.stringify([manifest, ...code]));
  const folder = join(CACHE, hash.digest('hex').slice(0, 16));
  mkdirSync(CACHE, { recursive: true });
  removeOld();
  if (existsSync(folder)) {
    utimesSync(folder, new Date(), new Date());
    return join(folder, 'bundle');
  }
  const draft = mkdtempSync(join(CACHE, 'draft-'));
  // Has the version, and says that the files are modules.
  writeFileSync(join(draft, 'package.json'), manifest);
  for (const [name, text] of code) {
    const path = join(draft, 'bundle', name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  try {
    renameSync(draft, folder);
  } catch (error) {
    rmSync(draft, { recursive: true });
    if (!existsSync(folder)) throw error; // Else another run was faster.
  }
  return join(folder, 'bundle');
}

function removeOld(): void {
  for (const name of readdirSync(CACHE)) {
    const path = join(CACHE, name);
    const age = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    if (age > KEPT_MS) rmSync(path, { recursive: true, force: true });
  }
}
