import { expect, test } from 'vitest';

import { Outline, OutlineScan } from './outline.ts';

const long = (text: string): string => text + 'x'.repeat(20_000);

function outlineOf(json: string, pieceBytes: number): Outline | undefined {
  const bytes = Buffer.from(json);
  const scan = new OutlineScan();
  for (let at = 0; at < bytes.length; at += pieceBytes) scan.push(bytes.subarray(at, at + pieceBytes));
  return scan.end();
}

/** The text with its holes filled in again. */
function filled(json: string, outline: Outline): string {
  const bytes = Buffer.from(json);
  return Array.from(outline.partsOf(outline.text), (part) =>
    typeof part === 'string' ? part : bytes.subarray(part.start, part.end).toString(),
  ).join('');
}

const SAMPLES = {
  plain: JSON.stringify({ a: 1, b: [true, 'short', { c: 'é😀' }] }),
  hole: JSON.stringify({ a: long('é'), b: 'short', c: [long('"\\'), long('\\\\"')] }),
  escapes: JSON.stringify({ a: `${long('')}\\`, b: `${long('')}\\"`, '"': '\\' }),
  spaced: JSON.stringify({ a: long('😀'), b: '' }, null, 2),
};

test.each(Object.entries(SAMPLES))('%s: the outline with its holes is the text, however it comes', (_name, json) => {
  for (const pieceBytes of [1, 2, 3, 7, 1000, 16_383, 16_385, 1 << 20]) {
    const outline = outlineOf(json, pieceBytes);
    expect(outline === undefined ? undefined : filled(json, outline)).toBe(json);
  }
});

test('strings are holes where they are long', () => {
  const json = JSON.stringify({ a: 'x'.repeat(16_384), b: 'x'.repeat(16_385), c: 'x' });
  const outline = outlineOf(json, 100) as Outline;
  const start = json.indexOf('"b":"') + 5;
  expect(outline.holes).toEqual([{ start, end: start + 16_385 }]);
  const at = outline.text.indexOf('"b":') + 4;
  expect(outline.hole({ start: at, end: at + 4 })).toEqual({ start, end: start + 16_385 });
  expect(outline.hole({ start: outline.text.indexOf('"x"'), end: 0 })).toBeUndefined();
});

test('what is cut off, or leaves too much, has no outline', () => {
  expect(outlineOf('{"a":"b', 2)).toBeUndefined();
  expect(outlineOf(`[${'"xxxxxxxxxxxxxxx",'.repeat(300_000)}""]`, 1 << 16)).toBeUndefined();
});
