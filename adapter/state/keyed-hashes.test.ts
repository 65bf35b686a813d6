import { createHash, createHmac } from 'node:crypto';

import { expect, test } from 'vitest';

import { KeyedHashes } from './keyed-hashes.ts';
import { StoreUnavailable } from './state-store.ts';

const hashes = (value: string): KeyedHashes => new KeyedHashes({ value });

test('T2 T25: a hash of a token or of arguments cannot be made without the secret of the store, nor one from the other', () => {
  const one = hashes('a secret');
  const plain = ['hex', 'base64url'] as const;
  const guesses = plain.flatMap((form) => [
    createHash('sha256').update('word').digest(form),
    createHmac('sha256', 'a secret').update('word').digest(form),
  ]);
  expect(one.principal('word')).toMatch(/^[\w-]{43}$/);
  expect(one.arguments('word')).toMatch(/^[0-9a-f]{64}$/);
  expect(guesses).not.toContain(one.principal('word'));
  expect(guesses).not.toContain(one.arguments('word'));
  expect(Buffer.from(one.principal('word'), 'base64url').toString('hex')).not.toBe(one.arguments('word'));
  expect(hashes('another').principal('word')).not.toBe(one.principal('word'));
  expect(hashes('another').arguments('word')).not.toBe(one.arguments('word'));
});

test('T25: replicas with one secret make the same hashes, of each token its own', () => {
  const [one, other] = [hashes('shared'), hashes('shared')];
  expect(one.principal('a')).toBe(other.principal('a'));
  expect(one.principal('b')).not.toBe(one.principal('a'));
  expect(one.principal('a')).toBe(other.principal('a'));
  expect(one.arguments('{"a":1}')).toBe(other.arguments('{"a":1}'));
});

test('T25: the secret counts that the store has now', () => {
  let value: string | undefined = 'of memory';
  const changing = new KeyedHashes({
    get value(): string {
      if (value === undefined) throw new StoreUnavailable('down');
      return value;
    },
  });
  const before = changing.principal('a');
  value = undefined;
  expect(() => changing.principal('a')).toThrow(StoreUnavailable);
  value = 'of the store';
  expect(changing.principal('a')).not.toBe(before);
  expect(changing.principal('a')).toBe(hashes('of the store').principal('a'));
});
