import { describe, expect, test } from 'vitest';

import { type PlaceLimits, Semaphore } from './semaphore.ts';

const never = new AbortController().signal;
const places = (limits: Partial<PlaceLimits> = {}): Semaphore =>
  new Semaphore({ places: 2, ofOwner: 1, waiting: 3, waitingOfOwner: 2, waitMs: 60_000, ...limits });
const taken = async (from: Semaphore, owner?: string): Promise<Disposable> => {
  const place = await from.take(owner, never);
  if (place === undefined) throw new Error(`no place for ${owner}`);
  return place;
};

/** Takes a place in the background, and says in `got` when it has it. */
function waiting(from: Semaphore, got: string[], owner: string): Promise<void> {
  return from.take(owner, never).then((place) => void got.push(place === undefined ? `not ${owner}` : owner));
}
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a place', () => {
  test('is there for who comes first, then for who waits, in order', async () => {
    const all = places({ ofOwner: 2 });
    const [first, second] = [await taken(all, 'a'), await taken(all, 'b')];
    const got: string[] = [];
    void waiting(all, got, 'c');
    void waiting(all, got, 'd');
    await settled();
    expect(got).toEqual([]);
    first[Symbol.dispose]();
    await settled();
    expect(got).toEqual(['c']);
    second[Symbol.dispose]();
    await settled();
    expect(got).toEqual(['c', 'd']);
  });

  test('is kept for others where an owner has enough', async () => {
    const all = places();
    const first = await taken(all, 'a');
    const got: string[] = [];
    void waiting(all, got, 'a');
    await settled();
    expect(got).toEqual([]);
    await taken(all, 'b');
    void waiting(all, got, 'c');
    first[Symbol.dispose]();
    await settled();
    expect(got).toEqual(['a']);
  });

  test('is passed by those in front whose owner has enough', async () => {
    const all = places();
    const first = await taken(all, 'a');
    const second = await taken(all, 'b');
    const got: string[] = [];
    void waiting(all, got, 'a');
    void waiting(all, got, 'c');
    second[Symbol.dispose]();
    await settled();
    expect(got).toEqual(['c']);
    first[Symbol.dispose]();
    await settled();
    expect(got).toEqual(['c', 'a']);
  });

  test('is not counted for those without an owner', async () => {
    const all = places();
    await taken(all);
    await taken(all);
    expect(await places({ places: 0, waitMs: 1 }).take(undefined, never)).toBeUndefined();
  });
});

describe('waiting for a place', () => {
  test('ends in time, and leaves nothing behind', async () => {
    const all = places({ places: 1, waitMs: 20 });
    const first = await taken(all, 'a');
    expect(await all.take('b', never)).toBeUndefined();
    first[Symbol.dispose]();
    await taken(all, 'c');
  });

  test('ends when nobody wants it any more', async () => {
    const all = places({ places: 1 });
    const first = await taken(all, 'a');
    const ending = new AbortController();
    const waits = all.take('b', ending.signal);
    ending.abort();
    expect(await waits).toBeUndefined();
    expect(await all.take('b', ending.signal)).toBeUndefined();
    first[Symbol.dispose]();
    await taken(all, 'c');
  });

  test('is for a few only, and for fewer of one owner', async () => {
    const all = places({ places: 1 });
    await taken(all, 'a');
    const got: string[] = [];
    void waiting(all, got, 'b');
    void waiting(all, got, 'b');
    await waiting(all, got, 'b');
    void waiting(all, got, 'c');
    await waiting(all, got, 'd');
    expect(got).toEqual(['not b', 'not d']);
  });
});
