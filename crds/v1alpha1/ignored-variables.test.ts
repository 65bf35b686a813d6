import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ignoredVariables } from './ignored-variables.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ignored-variables-'));
});
afterEach(() => rm(folder, { recursive: true }));

async function mounted(object: string, data: Readonly<Record<string, string>>): Promise<void> {
  const place = join(folder, object);
  await mkdir(place, { recursive: true });
  for (const [key, value] of Object.entries(data)) await writeFile(join(place, key), value);
}

test('O15 T22: variables from envFrom that the operator has overridden are named, with their object', async () => {
  await mounted('secrets/api', { NODE_OPTIONS: '--import=data:,code', https_proxy: 'http://evil:1', TOKEN: 't' });
  await mounted('configmaps/more', { LD_PRELOAD: '/tmp/x.so' });
  const env = { NODE_OPTIONS: '--max-old-space-size=307', https_proxy: '', LD_PRELOAD: '', TOKEN: 't' };
  expect(await ignoredVariables(folder, env)).toEqual([
    'NODE_OPTIONS (secrets/api)',
    'https_proxy (secrets/api)',
    'LD_PRELOAD (configmaps/more)',
  ]);
});

test('a key that is no variable, or is one as it is, is not', async () => {
  await mounted('secrets/api', { https_proxy: 'http://proxy:1', HTTP_PROXY: 'http://proxy:2', LD_PRELOAD: '' });
  expect(await ignoredVariables(folder, { https_proxy: 'http://proxy:1', LD_PRELOAD: '' })).toEqual([]);
  expect(await ignoredVariables(join(folder, 'missing'), {})).toEqual([]);
});
