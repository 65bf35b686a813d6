import { link, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { FileRefused } from '../keys/file-key.ts';
import { DiskStagingArea } from './disk-staging-area.ts';

const id = (digit: string): string => digit.repeat(32);
const file = { serverId: 's', kind: 'artifact', sessionId: id('a'), fileId: id('b'), filename: 'book.xlsx' } as const;
const version = (digit: string) => ({ ...file, contentId: id(digit) });

let base: string;
let root: string;
let stage: DiskStagingArea;

beforeEach(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), 'versions-')));
  root = join(base, 'root');
  stage = await DiskStagingArea.open({ root, access: 'owner', atomicWrites: true, locatorRoots: [], forbidden: [] });
});
afterEach(() => rm(base, { recursive: true, force: true }));

async function write(place: Parameters<typeof stage.create>[0], text: string): Promise<void> {
  const writer = await stage.create(place, { atomic: false });
  await writer.write(Buffer.from(text));
  await writer.finish();
}

async function read(place: Parameters<typeof stage.open>[0]): Promise<string> {
  await using opened = await stage.open(place);
  const parts: Buffer[] = [];
  for await (const part of opened.read()) parts.push(part);
  return Buffer.concat(parts).toString();
}

const refusal = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'done',
    (error: unknown) => (error instanceof FileRefused ? error.reason : error),
  );

describe('versions of a file', () => {
  test('lie beside each other, and one is removed without the others', async () => {
    await write(file, 'one');
    await write(version('c'), 'two');
    await write(version('d'), 'three');
    expect([await read(file), await read(version('c')), await read(version('d'))]).toEqual(['one', 'two', 'three']);
    await stage.removeVersion(version('c'));
    await stage.removeVersion(file);
    await stage.removeVersion(version('e'));
    expect(await refusal(read(version('c')))).toBe('missing');
    expect(await refusal(read(file))).toBe('missing');
    expect(await read(version('d'))).toBe('three');
    await stage.removeItem(file);
    expect(await refusal(read(version('d')))).toBe('missing');
  });

  test('are taken from the place where a tool has worked', async () => {
    const work = { ...file, fileId: id('f') };
    await write(work, 'changed');
    await stage.take(work, version('c'));
    expect(await read(version('c'))).toBe('changed');
    expect(await refusal(stage.take(work, version('d')))).toBe('missing');
  });

  test.each(['../x', 'x', ''])('with another id are none: %j', async (contentId) => {
    expect(await refusal(read({ ...file, contentId }))).toBe('outside');
  });
});

describe('a folder that a tool fills', () => {
  const folder = { ...file, filename: 'report' };

  test('gives its plain files at every depth, and each can be taken', async () => {
    const path = await stage.prepareFolder(folder);
    await mkdir(join(path, 'assets/deep'), { recursive: true });
    await writeFile(join(path, 'index.html'), 'index');
    await writeFile(join(path, 'assets/deep/a.css'), 'css');
    await symlink('/etc/passwd', join(path, 'passwd'));
    await symlink('/etc', join(path, 'etc'));
    const found: string[] = [];
    for await (const names of stage.filesBelow(folder)) found.push(names.join('/'));
    expect(found.toSorted()).toEqual(['assets/deep/a.css', 'index.html']);
    const taken = { ...file, fileId: id('f'), filename: 'a.css' };
    await stage.take(folder, taken, ['assets', 'deep', 'a.css']);
    expect(await read(taken)).toBe('css');
    for (const names of [['passwd'], ['etc', 'passwd'], ['..', 'x'], ['assets']]) {
      expect(await refusal(stage.take(folder, taken, names)), names.join('/')).not.toBe('done');
    }
    await link(join(path, 'index.html'), join(base, 'other'));
    expect(await refusal(stage.take(folder, taken, ['index.html']))).toBe('linked');
  });

  test('is nothing where there is none', async () => {
    const found: unknown[] = [];
    for await (const names of stage.filesBelow(folder)) found.push(names);
    expect(found).toEqual([]);
  });
});

describe('a file in a folder of the tool', () => {
  let own: string;
  beforeEach(async () => {
    own = join(base, 'browser');
    await mkdir(own);
    await writeFile(join(own, 'page.yml'), 'page');
  });

  test.each(['page.yml', './page.yml', 'x/../page.yml'])('is found by %s', async (path) => {
    await using opened = await stage.openFound(path, own);
    expect(opened.path).toBe(join(own, 'page.yml'));
  });

  test('is removed unless another one is in its place by then', async () => {
    const opened = await stage.openFound(join(own, 'page.yml'), own);
    await opened.close();
    await rm(opened.path);
    await writeFile(opened.path, 'another');
    await stage.removeFound(opened);
    expect(await readFile(opened.path, 'utf8')).toBe('another');
    const again = await stage.openFound('page.yml', own);
    await again.close();
    await stage.removeFound(again);
    expect(await refusal(stage.openFound('page.yml', own))).toBe('missing');
  });

  test('outside of it, or of another kind, is refused', async () => {
    await writeFile(join(base, 'outside'), 'x');
    await symlink(join(base, 'outside'), join(own, 'link'));
    await link(join(base, 'outside'), join(own, 'hard'));
    expect(await refusal(stage.openFound('../outside', own))).toBe('outside');
    expect(await refusal(stage.openFound(join(base, 'outside'), own))).toBe('outside');
    expect(await refusal(stage.openFound('/proc/self/environ', '/proc'))).toBe('outside');
    expect(await refusal(stage.openFound('link', own))).toBe('linked');
    expect(await refusal(stage.openFound('hard', own))).toBe('linked');
    await write(file, 'secret of a session');
    const ours = join('artifacts/sessions', file.sessionId, file.fileId, file.filename);
    expect(await refusal(stage.openFound(ours, root))).toBe('outside');
  });
});
