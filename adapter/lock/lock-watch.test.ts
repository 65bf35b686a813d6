import { expect, test } from 'vitest';

import type { ComparedList } from './compare.ts';
import { type LockReport, LockWatch } from './lock-watch.ts';

const drifted = (...names: string[]): ComparedList => ({
  entries: names.map((name) => ({ name, state: 'drift', fields: ['description'] })),
  removed: [],
});
const NOTHING: ComparedList = { entries: [{ name: 'a', state: 'same', fields: [] }], removed: [] };

function watching({ allowsNew = false } = {}) {
  const told: LockReport[] = [];
  let now = 0;
  const watch = new LockWatch({ onDrift: (report) => told.push(report), allowsNew: () => allowsNew, now: () => now });
  return { watch, told, later: (ms: number) => (now += ms) };
}

test('tells each difference once, and of many at most one in a minute', () => {
  const { watch, told, later } = watching();
  watch.compared('tools', NOTHING);
  expect(told).toEqual([]);
  watch.compared('tools', drifted('a'));
  watch.compared('tools', drifted('a'));
  expect(told.map(({ drift }) => drift)).toEqual([[{ kind: 'tools', name: 'a', fields: ['description'] }]]);
  watch.compared('tools', drifted('b'));
  expect(told).toHaveLength(1);
  expect(watch.report.drift).toMatchObject([{ name: 'b' }]);
  const late = drifted('b');
  watch.compared('tools', late);
  later(60_000);
  watch.compared('tools', late);
  expect(told[1]?.drift).toMatchObject([{ name: 'b' }]);
  watch.compared('tools', late);
  expect(told).toHaveLength(2);
  later(60_000);
  watch.compared('prompts', drifted('c'));
  expect(told[2]?.drift).toMatchObject([{ name: 'b' }, { kind: 'prompts', name: 'c' }]);
});

test('a difference that goes and comes again is told again', () => {
  const { watch, told, later } = watching();
  watch.compared('tools', drifted('a'));
  watch.compared('tools', NOTHING);
  later(60_000);
  watch.compared('tools', drifted('a'));
  expect(told).toHaveLength(2);
});

test('what is new is no difference where clients may have it', () => {
  const { watch, told, later } = watching({ allowsNew: true });
  const added: ComparedList = { entries: [{ name: 'b', state: 'new', fields: [] }], removed: [] };
  watch.compared('tools', added);
  expect([told, watch.report.new]).toEqual([[], [{ kind: 'tools', name: 'b' }]]);
  watch.compared('prompts', drifted('a'));
  expect(told).toHaveLength(1);
  later(60_000);
  watch.compared('tools', { ...added, entries: [...added.entries, { name: 'c', state: 'new', fields: [] }] });
  expect(told).toHaveLength(1);
  const strict = watching();
  strict.watch.compared('tools', added);
  expect(strict.told).toHaveLength(1);
});

test('names are bounded in number and length, and fit for a log', () => {
  const { watch } = watching();
  const long = `\u{200b}${'x'.repeat(10_000)}`;
  watch.compared('tools', drifted(...Array.from({ length: 500 }, (_, i) => `${long}${i}`)));
  const { drift, more } = watch.report;
  expect([drift.length, more.drift]).toEqual([20, 480]);
  expect(drift[0]?.name.length).toBeLessThan(200);
  expect(drift[0]?.name).toContain(String.raw`\u{200b}`);
});

test('nothing is said of lists that were compared with another lock', () => {
  const { watch } = watching();
  watch.compared('tools', drifted('a'));
  watch.greeted('drift');
  watch.reset();
  expect(watch.report).toMatchObject({ drift: [], new: [], removed: [], compared_at: null });
  watch.greeted('removed');
  expect(watch.report).toMatchObject({ removed: [{ kind: 'instructions' }], compared_at: 0 });
});
