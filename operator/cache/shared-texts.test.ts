import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { SharedTexts } from './shared-texts.ts';

test('equal texts of many objects are one in memory', () => {
  const message = 'The policy allows any address at these ports, and the sentence goes on for a while. '.repeat(4);
  const text = JSON.stringify({ status: { conditions: [{ type: 'Ready', message }] } });
  /** Bytes that 5,000 parsed objects hold. */
  const heldBy = (kept: (object: object) => object): number => {
    const before = heapUsed();
    const objects = Array.from({ length: 5_000 }, () => kept(JSON.parse(text) as object));
    const held = heapUsed() - before;
    expect(objects).toHaveLength(5_000);
    return held;
  };
  const texts = new SharedTexts();
  const [shared, apart] = [heldBy((object) => texts.within(object)), heldBy((object) => object)];
  expect(apart).toBeGreaterThan(5_000 * message.length);
  expect(shared).toBeLessThan(apart / 2);
});

test('a document says what it said', () => {
  const document = { a: 'x', b: ['x', 1, null, true, { c: 'y'.repeat(1000) }], d: {}, '': '' };
  expect(new SharedTexts().within(structuredClone(document))).toEqual(document);
});

test('members without a name that is text stay', () => {
  const hash = Symbol('hash');
  expect(new SharedTexts().within({ a: 'x', [hash]: 'h' })).toEqual({ a: 'x', [hash]: 'h' });
});

test('texts that nobody else says do not pile up', () => {
  const texts = new SharedTexts(100);
  for (let index = 0; index < 1_000; index++) texts.text(`uid ${index}`);
  expect(texts.size).toBeLessThanOrEqual(100);
  texts.text('long '.repeat(1_000));
  expect(texts.size).toBeLessThanOrEqual(100);
});

test('long texts are not remembered', () => {
  const texts = new SharedTexts();
  const file = 'line\n'.repeat(1_000);
  expect(texts.text(file)).toBe(file);
  expect(texts.size).toBe(0);
});

function heapUsed(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed;
}
