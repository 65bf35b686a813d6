/**
 * What a release of the plugin for kubectl consists of: `node scripts/plugin-release.ts FOLDER URL HOMEPAGE` writes its archive
 * and its manifest for krew into FOLDER. URL is where the files of FOLDER will be found, HOMEPAGE where people read of it.
 */
import { createHash } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { krewManifest } from './krew/krew-manifest.ts';
import { ROOT, runCommand } from './suite/command.ts';

const ASSEMBLE_MS = 180_000;
const PACK_MS = 60_000;

const [folder, url, homepage] = process.argv.slice(2);
if (folder === undefined || url === undefined || homepage === undefined) {
  console.error('Usage: node scripts/plugin-release.ts FOLDER URL HOMEPAGE');
  process.exit(2);
}
const target = resolve(folder);
const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { readonly version: string };
const name = `kubectl-mcpadapter-v${version}.tar.gz`;
const app = await mkdtemp(join(tmpdir(), 'plugin-release-'));
try {
  await run([process.execPath, join(ROOT, 'scripts/image/assemble.ts'), app], ASSEMBLE_MS);
  // krew links to it, and kubectl runs it.
  await chmod(join(app, 'dist/operator/plugin/main.js'), 0o755);
  await mkdir(target, { recursive: true });
  // The same bytes each time; the demo server is nothing for the plugin.
  const same = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner', '--exclude=./examples'];
  await run(['tar', ...same, '-C', app, '-czf', join(target, name), '.'], PACK_MS);
} finally {
  await rm(app, { recursive: true, force: true });
}
const sha256 = createHash('sha256')
  .update(await readFile(join(target, name)))
  .digest('hex');
const template = await readFile(join(ROOT, 'deploy/krew.yaml'), 'utf8');
const uri = `${url.replace(/\/$/, '')}/${name}`;
await writeFile(
  join(target, 'mcpadapter.yaml'),
  krewManifest(template, { version: `v${version}`, uri, sha256, homepage }),
);
console.log(`${join(target, name)}\n${join(target, 'mcpadapter.yaml')}`);

async function run(command: readonly string[], timeoutMs: number): Promise<void> {
  const { ok, output } = await runCommand([...command], { timeoutMs, signal: new AbortController().signal });
  if (!ok) throw new Error(output);
}
