import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { AuditFile } from './audit-file.ts';

let folder: string;
let path: string;
const open: AuditFile[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'audit-'));
  path = join(folder, 'audit.jsonl');
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((file) => file.close()));
  await rm(folder, { recursive: true, force: true });
});

interface Made {
  readonly file: AuditFile;
  readonly troubles: unknown[];
  readonly lost: () => number;
}

function auditFile(maxWaiting?: number): Made {
  const troubles: unknown[] = [];
  let lost = 0;
  const file = new AuditFile({
    path,
    maxWaiting,
    retryMs: 20,
    onLost: (lines) => void (lost += lines),
    onTrouble: (error) => void troubles.push(error),
  });
  open.push(file);
  return { file, troubles, lost: () => lost };
}

const content = async (): Promise<string> => await readFile(path, 'utf8').catch(() => '');
const numbers = (count: number, from = 0): string[] => Array.from({ length: count }, (_, i) => `line ${from + i}\n`);

test('every line gets in, in order, behind what was there', async () => {
  await writeFile(path, 'before\n');
  const { file, troubles, lost } = auditFile();
  const lines = numbers(10_000);
  for (const line of lines) file.append(line);
  await file.close();
  expect(await content()).toBe(`before\n${lines.join('')}`);
  expect([troubles, lost()]).toEqual([[], 0]);
});

test('nobody else may read it', async () => {
  const { file } = auditFile();
  file.append('x\n');
  await file.close();
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});

test('after a rotation it goes on in a new file', async () => {
  const { file } = auditFile();
  file.append('one\n');
  await vi.waitFor(async () => expect(await content()).toBe('one\n'));
  await rename(path, `${path}.1`);
  file.append('two\n');
  await vi.waitFor(async () => expect(await readFile(`${path}.1`, 'utf8')).toBe('one\ntwo\n'));
  file.reopen();
  await vi.waitFor(async () => expect((await stat(path)).size).toBe(0));
  file.append('three\n');
  await file.close();
  expect([await content(), await readFile(`${path}.1`, 'utf8')]).toEqual(['three\n', 'one\ntwo\n']);
});

describe('a file that cannot be opened', () => {
  test('is tried again, and lines wait for it', async () => {
    path = join(folder, 'later', 'audit.jsonl');
    const { file, troubles, lost } = auditFile();
    for (const line of numbers(3)) file.append(line);
    await vi.waitFor(() => expect(troubles.length).toBeGreaterThan(1));
    expect(troubles[0]).toMatchObject({ code: 'ENOENT' });
    await mkdir(join(folder, 'later'));
    await vi.waitFor(async () => expect(await content()).toBe(numbers(3).join('')));
    expect(lost()).toBe(0);
  });

  test('loses lines for which there is no room, and those that wait at the end', async () => {
    path = join(folder, 'never', 'audit.jsonl');
    const { file, lost } = auditFile(20);
    for (const line of numbers(5)) file.append(line);
    expect(lost()).toBe(3);
    await file.close();
    expect(lost()).toBe(5);
    file.append('too late\n');
    expect(lost()).toBe(6);
  });

  test('may be a link', async () => {
    const elsewhere = join(folder, 'elsewhere');
    await writeFile(elsewhere, '');
    await symlink(elsewhere, path);
    const { file, troubles } = auditFile();
    file.append('x\n');
    await file.close();
    expect(troubles[0]).toMatchObject({ code: 'ELOOP' });
    expect(await readFile(elsewhere, 'utf8')).toBe('');
  });

  test.each([
    ['a folder', async () => await mkdir(path)],
    ['a pipe that nobody reads', async () => void execFileSync('mkfifo', [path])],
    ['a device', async () => void (path = '/dev/null')],
  ])('may be %s', async (_what, make) => {
    await make();
    const { file, troubles, lost } = auditFile();
    file.append('x\n');
    await vi.waitFor(() => expect(troubles.length).toBeGreaterThan(0));
    await file.close();
    expect(lost()).toBe(1);
  });
});
