import { spawnSync } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ROOT } from './suite/command.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'setup-'));
  await mkdir(join(folder, 'scripts'));
  await copyFile(join(ROOT, 'scripts/setup.sh'), join(folder, 'scripts/setup.sh'));
  await mkdir(join(folder, 'bin'));
  // Empties node_modules, as npm ci does.
  await writeFile(join(folder, 'bin/npm'), '#!/bin/sh\nrm -rf node_modules/*\n', { mode: 0o755 });
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test('a linked node_modules is refused before anything is installed into it', async () => {
  const shared = join(folder, 'shared');
  await mkdir(join(shared, 'zod'), { recursive: true });
  await symlink(shared, join(folder, 'node_modules'));
  const { status, stderr } = spawnSync('sh', [join(folder, 'scripts/setup.sh')], {
    encoding: 'utf8',
    env: { PATH: `${join(folder, 'bin')}:${process.env['PATH']}` },
  });
  expect(status).toBe(1);
  expect(stderr).toContain(`node_modules is a link to ${shared}`);
  expect(stderr).toContain('rm node_modules');
  expect(await readdir(shared)).toEqual(['zod']);
});
