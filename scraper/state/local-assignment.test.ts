import { expect, test } from 'vitest';
import { LocalAssignment } from './local-assignment.ts';

test('the only pod has all sources of the configuration as it changes', async () => {
  let sources = ['a', 'b'];
  const events: string[] = [];
  const drained = Promise.withResolvers<void>();
  const assignment = new LocalAssignment('pod', {
    sources: () => sources,
    gained: (source) => void events.push(`+${source}`),
    lost: (source) => {
      events.push(`-${source}`);
      return drained.promise;
    },
  });
  await assignment.start();
  expect(assignment.fence('a')).toEqual({ token: 0n });
  expect(assignment.fence('c')).toBeUndefined();

  sources = ['b', 'c'];
  const refreshed = assignment.refresh();
  // Its running windows can still be committed.
  expect(assignment.fence('a')).toBeDefined();
  drained.resolve();
  await refreshed;
  expect(assignment.fence('a')).toBeUndefined();
  expect(assignment.fence('c')).toBeDefined();
  expect(events).toEqual(['+a', '+b', '+c', '-a']);

  await assignment.stop();
  expect(assignment.fence('b')).toBeUndefined();
});

test('a source that is taken out and put back while its last windows run comes back when these are done', async () => {
  let sources = ['a'];
  const events: string[] = [];
  const drained = Promise.withResolvers<void>();
  const assignment = new LocalAssignment('pod', {
    sources: () => sources,
    gained: (source) => void events.push(`+${source}`),
    lost: (source) => {
      events.push(`-${source}`);
      return drained.promise;
    },
  });
  await assignment.start();
  sources = [];
  const refreshed = [assignment.refresh(), assignment.refresh()];
  sources = ['a'];
  await assignment.refresh();
  expect(events).toEqual(['+a', '-a']);
  drained.resolve();
  await Promise.all(refreshed);
  expect(events).toEqual(['+a', '-a', '+a']);
  expect(assignment.fence('a')).toBeDefined();
});
