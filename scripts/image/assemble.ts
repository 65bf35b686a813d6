/**
 * Makes the folder /app of the image: `node scripts/image/assemble.ts FOLDER`. Bundles the programs and copies the
 * packages that are not in the bundles from node_modules, without the network; of the others what they are and may be used
 * for, which scanners and lawyers look for. The demo server's packages stand apart from them.
 */
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { z } from 'zod';
import { ROOT } from '../suite/command.ts';
import { EXTERNAL } from './bundle.ts';
import { closure } from './closure.ts';
import { compile } from './compile.ts';

/** What the demo server imports. The others of its packages are the programs' own. */
const DEMO_PACKAGES = ['@modelcontextprotocol/server', '@modelcontextprotocol/node', 'zod'];
/** Nobody reads them in the image, and they are more than half of it. */
const DEVELOPMENT_FILES = /\.(d\.[cm]?ts|map|md)$/;
const NAME_AND_LICENCE = /^(package\.json|(licen[cs]e|notice|copying).*)$/i;

const PackageJson = z.looseObject({
  name: z.string(),
  version: z.string(),
  dependencies: z.record(z.string(), z.string()),
});
const names = () => z.record(z.string(), z.string()).optional();
const Lockfile = z.looseObject({
  packages: z.record(
    z.string(),
    z.looseObject({
      dependencies: names(),
      optionalDependencies: names(),
      peerDependencies: names(),
      peerDependenciesMeta: z.record(z.string(), z.looseObject({ optional: z.boolean().optional() })).optional(),
    }),
  ),
});

const [target] = process.argv.slice(2);
if (target === undefined) {
  console.error('Usage: node scripts/image/assemble.ts FOLDER');
  process.exit(2);
}
await assemble(resolve(target));

async function assemble(app: string): Promise<void> {
  const { name, version, dependencies } = PackageJson.parse(
    JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')),
  );
  const { packages } = Lockfile.parse(JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8')));

  await compile(join(app, 'dist'));

  const external = closure(packages, EXTERNAL);
  for (const path of external) await copyPackage(path, join(app, path));
  for (const path of closure(packages, Object.keys(dependencies))) {
    if (!external.has(path)) await copyPackage(path, join(app, path), NAME_AND_LICENCE);
  }
  const demo = join(app, 'examples');
  for (const path of closure(packages, DEMO_PACKAGES)) {
    if (!external.has(path)) await copyPackage(path, join(demo, path));
  }
  // Node runs the demo server as it is.
  await cp(join(ROOT, 'examples/quickstart'), join(demo, 'quickstart'), {
    recursive: true,
    filter: (source) => !/\.(ya?ml|test\.ts)$/.test(source) && !source.includes('.data'),
  });
  await cp(join(ROOT, 'bin'), join(app, 'bin'), { recursive: true });
  const start = "#!/usr/local/bin/node\nimport '../examples/quickstart/upstream.ts';\n";
  await writeFile(join(app, 'bin/mcp-demo-server'), start);
  await cp(join(ROOT, 'LICENSE'), join(app, 'LICENSE'));
  // Of package.json only what the programs read, so that a change of a script is no change of the image.
  await writeFile(join(app, 'package.json'), `${JSON.stringify({ name, version, type: 'module' }, undefined, 2)}\n`);
}

/** @param top files of its folder that are all that is copied */
async function copyPackage(path: string, to: string, top?: RegExp): Promise<void> {
  const from = join(ROOT, path);
  await mkdir(to, { recursive: true });
  await cp(from, to, {
    recursive: true,
    filter: (source) => {
      const inside = relative(from, source);
      if (top !== undefined) return inside === '' || top.test(inside);
      // Packages inside this package are in the closure themselves, if they are needed.
      return !DEVELOPMENT_FILES.test(source) && !inside.split('/').includes('node_modules');
    },
  }).catch((error: NodeJS.ErrnoException) => {
    // An optional package of another system.
    if (error.code !== 'ENOENT') throw error;
  });
}
