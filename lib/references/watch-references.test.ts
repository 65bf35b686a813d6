import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type ReferencesWatch, watchReferences } from './watch-references.ts';

const INTERVAL_MS = 5;

describe('files of referenced Secrets and ConfigMaps', () => {
  let folder: string;
  let watch: ReferencesWatch | undefined;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'references-'));
  });
  afterEach(async () => {
    await watch?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  /** Writes keys as the kubelet does: into a new folder, then over the link `..data`. */
  async function project(name: string, revision: number, keys: Record<string, string>): Promise<void> {
    const volume = join(folder, 'secrets', name);
    const data = `..revision-${revision}`;
    await mkdir(join(volume, data), { recursive: true });
    for (const [key, value] of Object.entries(keys)) {
      await writeFile(join(volume, data, key), value);
      await symlink(join('..data', key), join(volume, key)).catch(() => undefined);
    }
    await symlink(data, join(volume, '..data_tmp'));
    await rename(join(volume, '..data_tmp'), join(volume, '..data'));
  }

  const start = async (): Promise<ReferencesWatch> => (watch = await watchReferences(folder, INTERVAL_MS));
  const becomesChanged = (value: boolean) =>
    vi.waitFor(() => expect(watch?.changed()).toBe(value), { interval: 2, timeout: 15_000 });
  /** Long enough for several looks. */
  const looks = () => new Promise((resolve) => setTimeout(resolve, 20 * INTERVAL_MS));

  test('that stay as they are have not changed', async () => {
    await project('api', 1, { token: 'one' });
    await start();
    await looks();
    expect(watch?.changed()).toBe(false);
  });

  test('have changed with a new value, and not any more with the old one', async () => {
    await project('api', 1, { token: 'one' });
    await start();
    await project('api', 2, { token: 'two' });
    await becomesChanged(true);
    await project('api', 3, { token: 'one' });
    await becomesChanged(false);
  });

  test('that are written again with the same value have not changed', async () => {
    await project('api', 1, { token: 'one' });
    await start();
    await project('api', 2, { token: 'one' });
    await looks();
    expect(watch?.changed()).toBe(false);
  });

  test('have changed with a new key', async () => {
    await project('api', 1, { token: 'one' });
    await start();
    await project('api', 2, { token: 'one', other: '' });
    await becomesChanged(true);
  });

  test('have changed when an optional object appears', async () => {
    await start();
    await project('api', 1, {});
    await becomesChanged(true);
  });

  test('have changed when text moves from one key to another', async () => {
    await project('api', 1, { a: 'xy', b: '' });
    await start();
    await project('api', 2, { a: 'x', b: 'y' });
    await becomesChanged(true);
  });

  test('have changed when one has the content that looked like the next one', async () => {
    await project('api', 1, { a: 'x', b: 'y' });
    await start();
    await rm(join(folder, 'secrets/api/b'));
    await project('api', 2, { a: 'xfile 13\nsecrets/api/by' });
    await becomesChanged(true);
  });

  test('have changed when they are gone, or come where there was no folder', async () => {
    await rm(folder, { recursive: true });
    await start();
    await looks();
    expect(watch?.changed()).toBe(false);
    await mkdir(folder);
    await becomesChanged(true);
    await rm(folder, { recursive: true });
    await becomesChanged(false);
  });

  test('may be links that lead nowhere or in a circle', async () => {
    await symlink('nowhere', join(folder, 'dangling'));
    await symlink('.', join(folder, 'circle'));
    await symlink('.', join(folder, 'another'));
    await start();
    await writeFile(join(folder, 'nowhere'), 'here');
    await becomesChanged(true);
  });

  test('are not looked at after the end', async () => {
    await start();
    await watch?.stop();
    await project('api', 1, { token: 'one' });
    await looks();
    expect(watch?.changed()).toBe(false);
  });
});
