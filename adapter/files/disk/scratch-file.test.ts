import { mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';

import { expect, test } from 'vitest';

import { ScratchFile } from './scratch-file.ts';

test('what was written is read, and has no name', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'scratch-'));
  await using file = await ScratchFile.open(folder);
  await file.write(Buffer.alloc(100_000, 'a'));
  await file.write(Buffer.from('end'));
  expect(file.size).toBe(100_003);
  expect(readdirSync(folder)).toEqual([]);
  expect((await buffer(file.read(99_998))).toString()).toBe('aaend');
  expect((await buffer(file.read(0, 70_000))).toString()).toBe('a'.repeat(70_000));
});

test('a folder that is not there is refused', async () => {
  await expect(ScratchFile.open('/nonexistent/folder')).rejects.toMatchObject({ reason: 'missing' });
});
