/**
 * `npm run lockfile`, after a change of the dependencies: resolves them, then adds the optional packages of other
 * systems that npm left out, without which `npm ci` refuses the lockfile.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { Lockfile, missingEntries } from './lockfile/lockfile.ts';

const file = join(import.meta.dirname, '../package-lock.json');
const text = readFileSync(file, 'utf8');
const added = missingEntries(Lockfile.parse(JSON.parse(text)));
const count = Object.keys(added).length;
if (count > 0) {
  // Read once more without a schema, which would change the order of the keys.
  const { packages, ...head } = z.looseObject({ packages: z.record(z.string(), z.unknown()) }).parse(JSON.parse(text));
  const sorted = Object.entries({ ...packages, ...added }).sort(([a], [b]) => a.localeCompare(b, 'en'));
  writeFileSync(file, `${JSON.stringify({ ...head, packages: Object.fromEntries(sorted) }, null, 2)}\n`);
}
console.log(`${count} packages added to package-lock.json`);
