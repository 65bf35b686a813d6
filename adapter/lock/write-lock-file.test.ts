import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, expect, test } from 'vitest';

import { writeLockFile } from './write-lock-file.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lock-file-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test('a new file is written, and nothing else', async () => {
  const path = join(folder, 'lock.yaml');
  await writeLockFile(path, 'new');
  expect(await readdir(folder)).toEqual(['lock.yaml']);
  expect(await readFile(path, 'utf8')).toBe('new');
});

test('a file is replaced by another one with its mode, behind a link too', async () => {
  const path = join(folder, 'lock.yaml');
  const link = join(folder, 'link.yaml');
  await writeFile(path, 'old');
  await chmod(path, 0o604);
  await symlink('lock.yaml', link);
  const { ino } = await stat(path);
  await writeLockFile(link, 'new');
  const after = await stat(path);
  expect([await readFile(path, 'utf8'), after.mode & 0o777]).toEqual(['new', 0o604]);
  // Who has the old one open reads it to its end.
  expect(after.ino).not.toBe(ino);
  expect(await readdir(folder)).toEqual(['link.yaml', 'lock.yaml']);
});

test('what cannot be replaced stays, and nothing is left beside it', async () => {
  const path = join(folder, 'lock.yaml');
  await mkdir(path);
  await expect(writeLockFile(path, 'new')).rejects.toThrow(`${path} is no file`);
  await expect(writeLockFile(join(folder, 'none', 'lock.yaml'), 'new')).rejects.toThrow('ENOENT');
  expect(await readdir(folder)).toEqual(['lock.yaml']);
});
