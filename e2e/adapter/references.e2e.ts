import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { startAdapter } from '../support/adapter-process.ts';
import { secret } from '../support/secrets/secret.ts';

const TOKEN = secret('token of the clients');
const config = {
  core: { max_start_wait_seconds: 0, upstream_ping: { enabled: false }, auth: { enabled: true, token: TOKEN } },
  state_persistence: { type: 'memory' },
  servers: [{ id: 'up', mount_path: '/mcp', upstream: { url: 'http://127.0.0.1:1/mcp' } }],
};

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'adapter-references-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** As the kubelet does: into a new folder, then over the link. */
async function project(revision: number, token: string): Promise<void> {
  const mounted = join(folder, 'secrets/api');
  await mkdir(join(mounted, `..${revision}`), { recursive: true });
  await writeFile(join(mounted, `..${revision}`, 'token'), token);
  await symlink(`..${revision}`, join(mounted, '..data_tmp'));
  await rename(join(mounted, '..data_tmp'), join(mounted, '..data'));
}

const references = async (url: string): Promise<unknown> => {
  const response = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(5000) });
  return ((await response.json()) as Record<string, unknown>).references;
};

test('a Secret that changes while the adapter runs shows in its health, also without a token', async () => {
  await project(1, 'one');
  await symlink('..data/token', join(folder, 'secrets/api/token'));
  await using adapter = await startAdapter({ config, args: ['--references', folder] });
  expect(await references(adapter.url)).toEqual({ changed: false });
  await project(2, 'two');
  await vi.waitFor(async () => expect(await references(adapter.url)).toEqual({ changed: true }), 30_000);
  expect(await adapter.stop()).toEqual({ code: 0, signal: null });

  await using restarted = await startAdapter({ config, args: ['--references', folder] });
  expect(await references(restarted.url)).toEqual({ changed: false });
});

test('a folder that does not exist does not keep the adapter from starting', async () => {
  await using adapter = await startAdapter({ config, args: ['--references', join(folder, 'missing')] });
  expect(await references(adapter.url)).toEqual({ changed: false });
});

test('without --references, health says nothing about them', async () => {
  await using adapter = await startAdapter({ config });
  expect(await references(adapter.url)).toBeUndefined();
});

test('O15 T22: the log names variables of envFrom that are code and were overridden', async () => {
  await mkdir(join(folder, 'secrets/api'), { recursive: true });
  await writeFile(join(folder, 'secrets/api/NODE_OPTIONS'), '--import=data:text/javascript,code');
  const env = { NODE_OPTIONS: '--max-old-space-size=256' };
  await using adapter = await startAdapter({ config, env, args: ['--references', folder] });
  expect(adapter.logs()).toContainEqual(
    expect.objectContaining({ level: 'warning', variables: ['NODE_OPTIONS (secrets/api)'] }),
  );
});
