import { describe, expect, test } from 'vitest';
import { DueQueue } from './due-queue.ts';

interface Item {
  readonly name: string;
  at: number;
  gone?: boolean;
}

const newQueue = (...items: Item[]): DueQueue<Item> => {
  const queue = new DueQueue<Item>((item) => (item.gone === true ? undefined : item.at));
  for (const item of items) queue.add(item);
  return queue;
};

const names = (
  queue: DueQueue<Item>,
  until: number,
  limit = 99,
  wanted: (item: Item) => boolean = () => true,
): string =>
  queue
    .due(until, limit, wanted)
    .map(({ name }) => name)
    .join(' ');

describe('DueQueue', () => {
  test('what is due comes, earliest first, and stays until it has left', () => {
    const queue = newQueue({ name: 'c', at: 3 }, { name: 'a', at: 1 }, { name: 'd', at: 4 }, { name: 'b', at: 2 });
    expect(names(queue, 0)).toBe('');
    expect(names(queue, 3)).toBe('a b c');
    expect(names(queue, 3, 2)).toBe('a b');
    expect(names(queue, 3)).toBe('a b c');
  });

  test('an item whose time has moved on comes at its new time', () => {
    const moved = { name: 'moved', at: 1 };
    const queue = newQueue(moved, { name: 'other', at: 2 });
    moved.at = 5;
    expect(names(queue, 4)).toBe('other');
    expect(names(queue, 5)).toBe('other moved');
  });

  test('unwanted items are passed over and are there next time', () => {
    const queue = newQueue({ name: 'a', at: 1 }, { name: 'b', at: 1 }, { name: 'c', at: 2 });
    expect(names(queue, 9, 1, ({ name }) => name === 'c')).toBe('c');
    expect(names(queue, 9).split(' ').sort()).toEqual(['a', 'b', 'c']);
  });

  test('100,000 items in any order come in order, and those that left do not', () => {
    const items = Array.from({ length: 100_000 }, (_, index): Item => ({ name: '', at: (index * 7_919) % 100_003 }));
    const queue = newQueue(...items);
    for (const [index, item] of items.entries()) {
      if (index % 10 === 0) continue;
      item.gone = true;
      queue.left();
    }
    const due = queue.due(Infinity, Infinity, () => true).map(({ at }) => at);
    expect(due).toEqual(
      items
        .filter((_, index) => index % 10 === 0)
        .map(({ at }) => at)
        .sort((x, y) => x - y),
    );
  });

  test('items that left are not kept in memory, however far their time', () => {
    let asked = 0;
    const queue = new DueQueue<Item>((item) => {
      asked += 1;
      return item.gone === true ? undefined : item.at;
    });
    for (let index = 0; index < 20_000; index += 1) {
      const item: Item = { name: '', at: 1_000_000 + index };
      queue.add(item);
      item.gone = true;
      queue.left();
    }
    asked = 0;
    expect(queue.due(Infinity, 1, () => true)).toEqual([]);
    expect(asked).toBeLessThanOrEqual(1_001);
  });
});
