import { readFileSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startProcess } from '../support/processes.ts';
import { startRedis } from '../support/redis.ts';

const ROOT = join(import.meta.dirname, '../..');
const CACHE = join(ROOT, 'node_modules/.cache');
let folder: string;

beforeAll(async () => {
  // Inside the project, so that the built files find the dependencies.
  await mkdir(CACHE, { recursive: true });
  folder = await mkdtemp(join(CACHE, 'build-'));
  await copyFile(join(ROOT, 'package.json'), join(folder, 'package.json'));
  await using build = startProcess(process.execPath, [join(ROOT, 'scripts/image/compile.ts'), join(folder, 'dist')]);
  expect(await build.exitsWithin(100_000), build.stdout()).toEqual({ code: 0, signal: null });
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

test('the built adapter runs without the sources, and with Redis', async () => {
  await using redis = await startRedis();
  const config = join(folder, 'adapter.yaml');
  const servers = [{ id: 'a', mount_path: '/a', upstream: { url: 'http://127.0.0.1:1/mcp' } }];
  const { host, port } = redis;
  const persistence = { type: 'redis', redis: { host, port } };
  const root = join(folder, 'data');
  await writeFile(config, JSON.stringify({ storage: { root }, state_persistence: persistence, servers }));
  const main = join(folder, 'dist/adapter/main.js');
  await using adapter = startProcess(process.execPath, [main, '--config', config, '--port', '0']);
  const [, url] = await adapter.waitForStdout(/"url":"([^"]+)"/);
  const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(5000) });
  expect({ status: response.status, body: await response.json() }).toEqual({ status: 200, body: { status: 'ok' } });
  expect(await adapter.stop()).toEqual({ code: 0, signal: null });
});

test.each(['adapter/main', 'scraper/main', 'operator/main', 'operator/plugin/main'])(
  '%s says its version',
  async (name) => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { readonly version: string };
    await using program = startProcess(process.execPath, [join(folder, 'dist', `${name}.js`), '--version']);
    expect(await program.exitsWithin(20_000)).toEqual({ code: 0, signal: null });
    expect(program.stdout()).toContain(version);
  },
);

test('the plugin finds the adapter that is built beside it', async () => {
  const plugin = join(folder, 'dist/operator/plugin/main.js');
  await using suggest = startProcess(process.execPath, [plugin, 'suggest', 'http://127.0.0.1:1/mcp']);
  expect(await suggest.exitsWithin(20_000)).toEqual({ code: 3, signal: null });
  expect(suggest.stderr()).toContain('connect ECONNREFUSED 127.0.0.1:1');
});
