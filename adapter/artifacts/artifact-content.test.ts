import { expect, test } from 'vitest';

import { wholeAnswer } from '../exchange/testing/whole-answer.ts';
import type { OpenedFile } from '../files/keys/file-key.ts';
import { contentForm, fileContent } from './artifact-content.ts';

/** A file that comes in chunks of these sizes, in turn. */
function fileOf(bytes: Buffer, sizes: readonly number[]): { file: OpenedFile; isClosed: () => boolean } {
  let closed = false;
  async function* read(): AsyncGenerator<Buffer> {
    for (let at = 0, i = 0; at < bytes.length; i++) {
      const size = sizes[i % sizes.length] ?? 1;
      yield Buffer.from(bytes.subarray(at, at + size));
      at += size;
    }
  }
  const close = async (): Promise<void> => void (closed = true);
  const known = { path: '', size: bytes.length, modifiedAt: 0, version: { id: '', changedAt: 0 } };
  return {
    file: { ...known, read, sync: async () => undefined, close, [Symbol.asyncDispose]: close },
    isClosed: () => closed,
  };
}

test.each([[[1]], [[2]], [[3]], [[4, 1, 1, 2]], [[1, 1, 1, 100_000]], [[65_536]], [[300_001, 1]]])(
  'a file that comes in chunks of %j is whole, in the size that is said, and closed',
  async (sizes) => {
    const bytes = Buffer.from(Array.from({ length: sizes[0] === 300_001 ? 700_000 : 5_000 }, (_, i) => i * 7));
    const base64 = fileOf(bytes, sizes);
    const encoded = fileContent(base64.file, 'blob', '<é>', '</>');
    const text = await wholeAnswer(encoded);
    expect(text).toBe(`<é>${bytes.toString('base64')}</>`);
    expect([Buffer.byteLength(text), base64.isClosed()]).toEqual([encoded.bytes, true]);

    const written = '"é😀\\\n'.repeat(500);
    const plain = fileOf(Buffer.from(written), sizes);
    const answer = fileContent(plain.file, 'text', '{"a":"', '"}');
    expect(answer.bytes).toBeUndefined();
    expect(JSON.parse(await wholeAnswer(answer))).toEqual({ a: written });
    expect(plain.isClosed()).toBe(true);
  },
);

test('a file of which nobody wants more is closed', async () => {
  const { file, isClosed } = fileOf(Buffer.alloc(100), [10]);
  for await (const _part of fileContent(file, 'blob', '', '').parts) break;
  expect(isClosed()).toBe(true);
});

test.each([[[1]], [[2, 1]], [[3]], [[65_536]]])('text is UTF-8 in chunks of %j, and all else a blob', async (sizes) => {
  const text = Buffer.from('\uFEFFaé€😀'.repeat(50));
  expect(await contentForm(fileOf(text, sizes).file, 'text/csv')).toBe('text');
  expect(await contentForm(fileOf(text, sizes).file, 'application/json')).toBe('blob');
  expect(await contentForm(fileOf(text.subarray(0, -1), sizes).file, 'text/csv')).toBe('blob');
  expect(await contentForm(fileOf(Buffer.concat([text, Buffer.of(0xff, 0x61)]), sizes).file, 'text/csv')).toBe('blob');
  expect(await contentForm(fileOf(Buffer.alloc(0), sizes).file, 'text/csv')).toBe('text');
});

test('a file that cannot be looked through is closed', async () => {
  const { file, isClosed } = fileOf(Buffer.alloc(0), [1]);
  const next = (): Promise<never> => Promise.reject(new Error('gone'));
  const failing = { ...file, read: () => ({ [Symbol.asyncIterator]: () => ({ next }) }) };
  await expect(contentForm(failing, 'text/csv')).rejects.toThrow('gone');
  expect(isClosed()).toBe(true);
});
