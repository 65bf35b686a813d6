/**
 * `npm run lockfile`, after a change of the dependencies: resolves them, then adds the optional packages of other
 * systems that npm left out, without which `npm ci` refuses the lockfile, with what the registry says of their content.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { Lockfile, missingEntries, withoutIntegrity } from './lockfile/lockfile.ts';

const file = join(import.meta.dirname, '../package-lock.json');
const text = readFileSync(file, 'utf8');
const added = missingEntries(Lockfile.parse(JSON.parse(text)));
// Read once more without a schema, which would change the order of the keys.
const Raw = z.looseObject({ packages: z.record(z.string(), z.record(z.string(), z.unknown())) });
const { packages, ...head } = Raw.parse(JSON.parse(text));
const all: Record<string, object> = { ...packages, ...added };
const unproven = withoutIntegrity(Lockfile.parse({ packages: all }));
let proven = 0;
for (const { path, name, version } of unproven) {
  const integrity = integrityOf(name, version);
  if (integrity === undefined) continue;
  const { version: same, ...others } = { version, ...all[path] };
  all[path] = { version: same, integrity, ...others };
  proven++;
}
const count = Object.keys(added).length;
if (count + proven > 0) {
  const sorted = Object.entries(all).sort(([a], [b]) => a.localeCompare(b, 'en'));
  writeFileSync(file, `${JSON.stringify({ ...head, packages: Object.fromEntries(sorted) }, null, 2)}\n`);
}
console.log(
  `${count} packages added to package-lock.json, ${unproven.length - proven} of all are without an integrity`,
);

/** Undefined where the registry does not have the package. */
function integrityOf(name: string, version: string): string | undefined {
  try {
    const args = ['view', `${name}@${version}`, 'dist.integrity', '--json'];
    return z
      .string()
      .parse(JSON.parse(execFileSync('npm', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })));
  } catch {
    return undefined;
  }
}
