import { expect, test } from 'vitest';
import { podOf } from './rendezvous.ts';

const sources = Array.from({ length: 1000 }, (_, index) => `source-${index}`);
const place = (pods: readonly string[]): Map<string, string | undefined> =>
  new Map(sources.map((source) => [source, podOf(source, pods)]));

test('sources spread evenly over pods whose names differ by a digit', () => {
  const counts = Map.groupBy(place(['scraper-0', 'scraper-1', 'scraper-2', 'scraper-3']).values(), (pod) => pod);
  expect(counts.size).toBe(4);
  for (const members of counts.values()) {
    expect(members.length).toBeGreaterThan(200);
    expect(members.length).toBeLessThan(300);
  }
});

test('the order in which a pod sees the others does not matter', () => {
  expect(place(['c', 'a', 'b'])).toEqual(place(['a', 'b', 'c']));
});

test('when a pod goes, only its sources move', () => {
  const [before, after] = [place(['a', 'b', 'c']), place(['a', 'c'])];
  for (const source of sources) {
    if (before.get(source) !== 'b') expect(after.get(source)).toBe(before.get(source));
  }
});

test('without pods nobody runs a source', () => {
  expect(podOf('source', [])).toBeUndefined();
});
