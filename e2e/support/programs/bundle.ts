/**
 * Before the suite e2e: bundles the programs that it starts most, as the image has them, which saves half of the
 * processor's time. `quickstart/` and the suite heavy start the sources.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { bundle, writeBundle } from '../../../scripts/image/bundle.ts';
import { luaFolders } from '../../../scripts/image/lua-folders.ts';
import { BUNDLED, PROGRAMS, ROOT } from './program-path.ts';

/** Below the project, so that programs find what they load from packages. */
const CACHE = join(ROOT, 'node_modules/.cache/test-programs');
/** No run lasts as long. */
const KEPT_MS = 24 * 60 * 60_000;

export async function setup({ config }: TestProject): Promise<void> {
  // What is changed then is not bundled again.
  if (config.watch) return;
  process.env[PROGRAMS] = stored(await bundle(BUNDLED, luaFolders()));
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
  writeBundle(join(draft, 'bundle'), code);
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
