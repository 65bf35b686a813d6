/**
 * Container images for `cluster load`, made from what is on this machine: no container engine, no registry. An image
 * whose content has not changed is taken from $CLUSTER_BIN/images.
 */
import { createHash, type Hash } from 'node:crypto';
import {
  access,
  chmod,
  copyFile,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { CLUSTER_BIN, execute } from './kubectl.ts';

const ROOT = join(import.meta.dirname, '../..');
const PACK = join(import.meta.dirname, 'image');
const CACHE = join(CLUSTER_BIN, 'images');
const BUILD_MS = 300_000;

export interface Image {
  /** Full name, as `cluster.tag` needs it. Pods may leave `docker.io/library/` out. */
  readonly name: string;
  readonly tar: string;
}

/** What the programs are made from. */
const SOURCES = ['lib', 'crds', 'operator', 'adapter', 'scraper', 'bin', 'examples/quickstart', 'scripts/image'];
const SOURCE_FILES = ['package.json', 'package-lock.json'];

/** The image of the product, as the Dockerfile makes it: `mcp-adapter:VERSION`. */
export async function productImage(): Promise<Image> {
  const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  const node = await realpath(process.execPath);
  const hash = createHash('sha256').update(`${version} ${node} ${(await stat(node)).size}`);
  for (const file of SOURCE_FILES) hash.update(await readFile(join(ROOT, file)));
  for (const folder of SOURCES) await hashFolder(hash, join(ROOT, folder));
  return await cached(`docker.io/library/mcp-adapter:${version}`, hash, '["mcp-adapter"]', async (root) => {
    await execute(process.execPath, [join(ROOT, 'scripts/image/assemble.ts'), join(root, 'app')], '', {
      timeoutMs: BUILD_MS,
    });
    await addProgram(root, node, 'usr/local/bin/node');
    for (const name of await readdir(join(root, 'app/bin'))) {
      await chmod(join(root, 'app/bin', name), 0o755);
      await symlink(`/app/bin/${name}`, join(root, 'usr/local/bin', name));
    }
  });
}

/** Redis under the name that its official image has, from redis-server of this machine. */
export async function redisImage(): Promise<Image> {
  const program = (await execute('sh', ['-c', 'command -v redis-server'])).trim();
  const server = await realpath(program);
  const hash = createHash('sha256').update(`${server} ${(await stat(server)).size} ${(await stat(server)).mtimeMs}`);
  return await cached('docker.io/library/redis:7', hash, '["redis-server"]', async (root) => {
    await addProgram(root, server, 'usr/local/bin/redis-server');
  });
}

async function cached(
  name: string,
  hash: Hash,
  entrypoint: string,
  fill: (root: string) => Promise<void>,
): Promise<Image> {
  hash.update(await readFile(import.meta.filename)).update(await readFile(PACK));
  const short = name.replace(/^.*\//, '').replace(':', '-');
  const tar = join(CACHE, `${short}-${hash.digest('hex').slice(0, 16)}.tar`);
  if (await exists(tar)) return { name, tar };
  const work = await mkdtemp(join(tmpdir(), 'image-'));
  try {
    const root = join(work, 'root');
    await mkdir(join(root, 'tmp'), { recursive: true });
    await chmod(join(root, 'tmp'), 0o1777);
    await addSystemFiles(root);
    await fill(root);
    await mkdir(CACHE, { recursive: true });
    const unfinished = join(CACHE, `.${short}-${process.pid}.tar`);
    await execute(PACK, [name, unfinished, root, entrypoint], '', { timeoutMs: BUILD_MS });
    for (const old of await readdir(CACHE)) {
      if (old.startsWith(`${short}-`)) await rm(join(CACHE, old), { force: true });
    }
    await rename(unfinished, tar);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  return { name, tar };
}

/** What every image needs that has no distribution in it. */
async function addSystemFiles(root: string): Promise<void> {
  await mkdir(join(root, 'etc/ssl/certs'), { recursive: true });
  await writeFile(
    join(root, 'etc/passwd'),
    'root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/tmp:/sbin/nologin\n',
  );
  await writeFile(join(root, 'etc/group'), 'root:x:0:\nnonroot:x:65532:\n');
  await writeFile(join(root, 'etc/nsswitch.conf'), 'hosts: files dns\n');
  const certificates = '/etc/ssl/certs/ca-certificates.crt';
  if (await exists(certificates)) await copyFile(certificates, join(root, certificates));
}

/** A program of this machine and the shared libraries that it is linked to. */
async function addProgram(root: string, program: string, path: string): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await copyFile(program, join(root, path));
  await chmod(join(root, path), 0o755);
  const linked = await execute('ldd', [program]);
  for (const [, library = ''] of linked.matchAll(/(?:=>\s+|^\s+)(\/\S+)/gm)) {
    await mkdir(dirname(join(root, library)), { recursive: true });
    await cp(await realpath(library), join(root, library));
  }
}

async function hashFolder(hash: Hash, folder: string): Promise<void> {
  for (const entry of (await readdir(folder, { withFileTypes: true })).sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    if (entry.name === '.data' || /\.(test|contract|e2e|heavy|cluster)\.ts$/.test(entry.name)) continue;
    if (entry.isDirectory()) await hashFolder(hash, path);
    else if (entry.isFile()) hash.update(`${path}\0`).update(await readFile(path));
  }
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
