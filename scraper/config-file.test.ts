import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ConfigFile, type LoadedConfig, readConfigFile } from './config-file.ts';

const fileWith = (...names: string[]): string =>
  JSON.stringify({
    scraper: { otelCollectorEndpoint: 'http://collector:4317' },
    sources: names.map((name) => ({
      name,
      frequency: '1m',
      baseUrl: 'https://api.example.com',
      endpoint: '/status',
      scrape: { type: 'instant' },
    })),
  });

describe('a configuration file', () => {
  let folder: string;
  let path: string;
  let file: ConfigFile | undefined;
  let changes: LoadedConfig[];
  let errors: string[];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'config-file-'));
    path = join(folder, 'config.yaml');
    changes = [];
    errors = [];
  });
  afterEach(async () => {
    await file?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  /** `events` or `clock`: how changes are noticed; the other one takes too long for a test. */
  async function follow(by: 'events' | 'clock' = 'clock', keepGoing = false): Promise<ConfigFile> {
    file = new ConfigFile(await readConfigFile(path, {}, keepGoing), {
      path,
      env: {},
      keepGoing,
      onChange: (loaded) => void changes.push(loaded),
      onError: (problem) => void errors.push(problem),
      pollMs: by === 'clock' ? 5 : 600_000,
    });
    return file;
  }
  const names = () => file?.current.config.sources.map(({ name }) => name);
  const wait = (check: () => void) => vi.waitFor(check, { interval: 5, timeout: 5000 });

  test('is known by the hash of its bytes', async () => {
    await writeFile(path, fileWith('a'));
    const { hash } = await readConfigFile(path, {});
    expect(hash).toMatch(/^[0-9a-f]{16}$/);
    await writeFile(path, `${fileWith('a')}\n`);
    expect((await readConfigFile(path, {})).hash).not.toBe(hash);
  });

  test.each(['events', 'clock'] as const)('is read again when it changes, noticed by %s', async (by) => {
    await writeFile(path, fileWith('a'));
    await follow(by);
    await writeFile(path, fileWith('a', 'b'));
    await wait(() => expect(names()).toEqual(['a', 'b']));
    expect(changes.at(-1)?.hash).toBe(file?.current.hash);
  });

  test.each(['events', 'clock'] as const)('of a ConfigMap is read again when its link is replaced: %s', async (by) => {
    const project = async (revision: number, text: string): Promise<void> => {
      await mkdir(join(folder, `..${revision}`));
      await writeFile(join(folder, `..${revision}`, 'config.yaml'), text);
      await symlink(`..${revision}`, join(folder, '..data_tmp'));
      await rename(join(folder, '..data_tmp'), join(folder, '..data'));
    };
    await project(1, fileWith('a'));
    await symlink(join('..data', 'config.yaml'), path);
    await follow(by);
    await project(2, fileWith('b'));
    await wait(() => expect(names()).toEqual(['b']));
  });

  test('that becomes invalid changes nothing, is reported once, and counts again when it is repaired', async () => {
    await writeFile(path, fileWith('a'));
    const { hash } = (await follow()).current;
    await writeFile(path, fileWith('b', 'b'));
    await wait(() => expect(errors).toHaveLength(1));
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(errors).toEqual([expect.stringContaining('sources[1].name is also the name of sources[0]')]);
    expect(file?.error).toBe(errors[0]);
    expect(file?.current.hash).toBe(hash);
    expect(names()).toEqual(['a']);

    await writeFile(path, fileWith('a'));
    await wait(() => expect(file?.error).toBeUndefined());
    expect(changes).toEqual([]);
  });

  test('that disappears changes nothing', async () => {
    await writeFile(path, fileWith('a'));
    await follow();
    await rm(path);
    await wait(() => expect(file?.error).toMatch(/cannot be read: ENOENT/));
    expect(names()).toEqual(['a']);
    await writeFile(path, fileWith('b'));
    await wait(() => expect(names()).toEqual(['b']));
    expect(file?.error).toBeUndefined();
  });

  test('is read soon although something else in its folder changes all the time', async () => {
    await writeFile(path, fileWith('a'));
    await follow('events');
    const storm = setInterval(() => void writeFile(join(folder, 'other'), String(Math.random())), 20);
    await writeFile(path, fileWith('b'));
    await wait(() => expect(names()).toEqual(['b'])).finally(() => clearInterval(storm));
  });

  describe('with --keep-going', () => {
    const broken = (text: string): string => text.replace('"1m"', '"often"');

    test('is used without the sources that something is wrong with, which are told', async () => {
      await writeFile(path, broken(fileWith('a', 'b')));
      const { current } = await follow('clock', true);
      expect(names()).toEqual(['b']);
      expect(current.leftOut).toMatchObject([{ path: 'sources[0].frequency' }]);
      await writeFile(path, broken(fileWith('a', 'b', 'c')));
      await wait(() => expect(names()).toEqual(['b', 'c']));
      expect(file?.current).toMatchObject({ leftOut: [{ path: 'sources[0].frequency' }], warnings: [] });
    });

    test('is refused where something else is wrong, too', async () => {
      await writeFile(path, broken(fileWith('a', 'b')).replace('otelCollectorEndpoint', 'collector'));
      await expect(readConfigFile(path, {}, true)).rejects.toThrow('scraper.collector');
    });
  });

  test('is not read after the end', async () => {
    await writeFile(path, fileWith('a'));
    await follow();
    await file?.stop();
    await writeFile(path, fileWith('b'));
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(names()).toEqual(['a']);
  });
});
