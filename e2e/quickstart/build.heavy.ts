import { globSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
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
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

test('the built adapter runs without the sources, and with Redis', async () => {
  const compile = join(ROOT, 'scripts/image/compile.ts');
  await using build = startProcess(process.execPath, [compile, folder]);
  expect(await build.exitsWithin(100_000), build.stdout()).toEqual({ code: 0, signal: null });
  const scripts = (root: string) => globSync('{adapter,scraper}/**/*.lua', { cwd: root }).sort();
  expect(scripts(folder)).toEqual(scripts(ROOT));

  await using redis = await startRedis();
  const config = join(folder, 'adapter.yaml');
  const servers = [{ id: 'a', mount_path: '/a', upstream: { url: 'http://127.0.0.1:1/mcp' } }];
  const { host, port } = redis;
  const persistence = { type: 'redis', redis: { host, port } };
  const root = join(folder, 'data');
  await writeFile(config, JSON.stringify({ storage: { root }, state_persistence: persistence, servers }));
  const main = join(folder, 'adapter/main.js');
  await using adapter = startProcess(process.execPath, [main, '--config', config, '--port', '0']);
  const [, url] = await adapter.waitForStdout(/"url":"([^"]+)"/);
  const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(5000) });
  expect({ status: response.status, body: await response.json() }).toEqual({ status: 200, body: { status: 'ok' } });
  expect(await adapter.stop()).toEqual({ code: 0, signal: null });
});
