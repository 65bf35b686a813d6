import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import type { StreamedAnswer } from '../exchange/answers/answer.ts';
import { wholeAnswer } from '../exchange/testing/whole-answer.ts';
import { ScratchFile } from '../files/disk/scratch-file.ts';
import { SpooledAnswer } from './spooled-answer.ts';

const FULL = Object.assign(new Error('full'), { code: 'ENOSPC' });

/** An answer whose disk is full after so many bytes. */
function spooled(mostBytes = Infinity) {
  const seen = { holds: 0, failed: undefined as StreamedAnswer | undefined, counted: [] as number[] };
  const folder = mkdtempSync(join(tmpdir(), 'spooled-'));
  const answer = new SpooledAnswer({
    control: { pause: () => void seen.holds++, resume: () => void seen.holds-- },
    open: async () => {
      const file = await ScratchFile.open(folder);
      const write = file.write.bind(file);
      return Object.assign(file, {
        write: async (bytes: Uint8Array) => {
          if (file.size + bytes.length > mostBytes) throw FULL;
          await write(bytes);
        },
      });
    },
    count: async (bytes) => void seen.counted.push(bytes),
    onFailed: (_error, rest) => {
      seen.failed = rest;
      return (_outline, end) => end;
    },
  });
  return { answer, seen };
}

const chunk = (of: string): Buffer => Buffer.from(of.repeat(100_000));

test('an answer is whole on the disk, with its long strings as holes', async () => {
  const { answer, seen } = spooled();
  const json = JSON.stringify({ a: 'x'.repeat(300_000), b: 1 });
  for (let at = 0; at < json.length; at += 70_000) answer.push(Buffer.from(json.slice(at, at + 70_000)));
  const source = await answer.whole();
  expect(source?.outline.holes).toHaveLength(1);
  expect(seen).toMatchObject({ holds: 0, failed: undefined, counted: [4 << 20] });
  expect(answer.asItCame && (await wholeAnswer(answer.asItCame))).toBe(json);
  await answer.close();
});

test('the upstream is held while too much waits to be written', async () => {
  const { answer, seen } = spooled();
  for (let i = 0; i < 8; i++) answer.push(chunk('x'));
  expect(seen.holds).toBe(1);
  await answer.whole();
  expect(seen.holds).toBe(0);
  await answer.close();
});

test.each([0, 150_000, 350_000])('with a disk of %d bytes it passes, from there and as it comes', async (mostBytes) => {
  const { answer, seen } = spooled(mostBytes);
  for (const one of ['a', 'b', 'c']) answer.push(chunk(one));
  await new Promise(setImmediate);
  answer.push(chunk('d'));
  const ended = answer.whole();
  await expect.poll(() => seen.failed).toBeDefined();
  const passed = wholeAnswer(seen.failed);
  expect(await ended).toBeUndefined();
  expect(answer.asItCame).toBeUndefined();
  expect(await passed).toBe(['a', 'b', 'c', 'd'].map((one) => one.repeat(100_000)).join(''));
  await answer.close();
});
