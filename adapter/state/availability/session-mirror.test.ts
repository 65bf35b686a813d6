import { expect, test } from 'vitest';
import { SessionMirror } from './session-mirror.ts';
import { newFile } from '../testing/files.ts';
import { sampleSession as newRecord } from '../testing/sample-session.ts';

const caller = { principal: '', now: 2_000 };

const ids = (mirror: SessionMirror): string[] => mirror.store.export().map(({ record }) => record.sessionId);

test('it holds what was last seen of a session', () => {
  const mirror = new SessionMirror(9);
  mirror.opened(newRecord('one'));
  mirror.found(newRecord('one'), caller, { state: 'active', record: newRecord('one', { generation: 4 }) });
  mirror.found(newRecord('two'), caller, { state: 'tombstoned', record: newRecord('two'), expiresAt: 9_000 });
  mirror.opened(newRecord('three'));
  mirror.ended(newRecord('three'), 8_000);
  mirror.opened(newRecord('four'));
  mirror.ended(newRecord('four'), null);
  const closed = { upstreamSessionId: '' };
  expect(mirror.store.export()).toEqual([
    { record: newRecord('one', { generation: 4 }), ending: null },
    { record: newRecord('two', closed), ending: { expiresAt: 9_000, reason: null } },
    { record: newRecord('three', closed), ending: { expiresAt: 8_000, reason: null } },
  ]);
});

test('what says nothing about the session changes nothing', () => {
  const mirror = new SessionMirror(9);
  mirror.opened(newRecord('one'));
  mirror.found(newRecord('one'), caller, { state: 'limit' });
  // Another principal's question: the session is still there.
  mirror.found(newRecord('one'), { principal: 'mallory', now: 2_000 }, { state: 'unknown' });
  expect(ids(mirror)).toEqual(['one']);
});

test('what was ended or invalidated elsewhere does not come back', async () => {
  const mirror = new SessionMirror(9);
  for (const id of ['ended', 'drifted']) mirror.opened(newRecord(id));
  mirror.found(newRecord('ended'), caller, { state: 'unknown' });
  const invalidated = { state: 'invalidated', reason: 'drift', expiresAt: 9_000 } as const;
  mirror.found(newRecord('drifted'), caller, invalidated);
  mirror.found(newRecord('not seen'), caller, invalidated);
  expect(ids(mirror)).toEqual(['drifted']);
  expect(await mirror.store.find(newRecord('drifted'), caller)).toEqual(invalidated);
});

test('beyond the limit the session that was not seen for the longest time goes', () => {
  const mirror = new SessionMirror(2);
  mirror.opened(newRecord('one'));
  mirror.opened(newRecord('two'));
  mirror.found(newRecord('one'), caller, { state: 'active', record: newRecord('one') });
  mirror.opened(newRecord('three'));
  expect(ids(mirror).sort()).toEqual(['one', 'three']);
  mirror.removed(newRecord('one'));
  mirror.opened(newRecord('four'));
  expect(ids(mirror).sort()).toEqual(['four', 'three']);
});

test('what is pinned is known on when its session is seen again, and goes with it', async () => {
  const mirror = new SessionMirror(9);
  const baseline = { fingerprint: 'f', text: '[]' };
  const record = newRecord('one', { baseline: 'f' });
  mirror.pinned(newRecord('unknown'), baseline);
  mirror.opened(newRecord('one'));
  mirror.pinned(record, baseline);
  mirror.found(record, caller, { state: 'active', record });
  mirror.found(record, caller, { state: 'tombstoned', record, expiresAt: 9e15 });
  mirror.opened(record);
  expect(await mirror.store.baseline(record)).toEqual(baseline);
  const other = { fingerprint: 'g', text: '["other"]' };
  mirror.pinned(record, other);
  expect(await mirror.store.baseline(record)).toEqual(other);
  expect(mirror.store.exportBaselines()).toEqual(new Map([['g', '["other"]']]));
  mirror.removed(record);
  mirror.opened(record);
  expect(await mirror.store.baseline(record)).toEqual({ ...baseline, text: '' });
  mirror.opened(newRecord('one'));
  expect(await mirror.store.baseline(record)).toBeUndefined();
  expect(ids(mirror)).toEqual(['one']);
});

test('files go with their session, and beyond twice the limit those that were not seen for the longest time', async () => {
  const mirror = new SessionMirror(1);
  mirror.opened(newRecord('one'));
  const [first, second, third] = ['1', '2', '3'].map((fileId) =>
    newFile(newRecord('one'), { state: 'committed', fileId, leaseUntil: 0 }),
  );
  if (first === undefined || second === undefined || third === undefined) throw new Error('three files');
  const kept = (): string[] => mirror.store.exportFiles().map(({ fileId }) => fileId);
  mirror.filesSeen([first, second]);
  mirror.filesSeen([first]);
  mirror.filesSeen([third]);
  expect(kept().sort()).toEqual(['1', '3']);
  mirror.filesRemoved([first]);
  expect(kept()).toEqual(['3']);
  mirror.filesSeen([newFile(newRecord('unknown'), { state: 'committed' })]);
  expect(kept()).toEqual(['3']);
  mirror.opened(newRecord('two'));
  expect(kept()).toEqual([]);
});
