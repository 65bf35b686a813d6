import { describe, expect, test } from 'vitest';

import { SwapRemoveSet } from './swap-remove-set.ts';
import { seededRandom } from './testing/generate-json.ts';

const item = (): { slot: number } => ({ slot: -1 });

describe('a bag', () => {
  test('holds what was added until it is deleted', () => {
    const bag = new SwapRemoveSet<{ slot: number }>();
    const [a, b, c] = [item(), item(), item()];
    for (const one of [a, b, c]) bag.add(one);
    expect(bag.values()).toEqual([a, b, c]);
    expect(bag.delete(a)).toBe(true);
    expect(new Set(bag.values())).toEqual(new Set([b, c]));
    expect([bag.size, a.slot]).toEqual([2, -1]);
  });

  test('deletes a thing once, and nothing that it does not hold', () => {
    const bag = new SwapRemoveSet<{ slot: number }>();
    const other = new SwapRemoveSet<{ slot: number }>();
    const [a, b] = [item(), item()];
    bag.add(a);
    other.add(b);
    expect([bag.delete(b), bag.delete(item()), bag.delete(a), bag.delete(a)]).toEqual([false, false, true, false]);
    expect([bag.size, other.size]).toEqual([0, 1]);
  });

  test('may lose things while somebody goes through a copy of them', () => {
    const bag = new SwapRemoveSet<{ slot: number }>();
    for (let i = 0; i < 10; i++) bag.add(item());
    for (const one of bag.values()) expect(bag.delete(one)).toBe(true);
    expect(bag.size).toBe(0);
  });

  test('does what a set does', () => {
    const random = seededRandom(3);
    const bag = new SwapRemoveSet<{ slot: number }>();
    const set = new Set<{ slot: number }>();
    for (let i = 0; i < 5000; i++) {
      const held = [...set];
      const one = held[Math.floor(random() * held.length)];
      if (one === undefined || random() < 0.55) {
        const added = item();
        bag.add(added);
        set.add(added);
      } else expect(bag.delete(one)).toBe(set.delete(one));
      expect(bag.size).toBe(set.size);
    }
    expect(new Set(bag.values())).toEqual(set);
  });
});
