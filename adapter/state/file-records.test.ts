import { expect, test } from 'vitest';
import { lastVersions, type OlderVersion } from './file-records.ts';

const version = (number: number): OlderVersion => ({ version: number, sizeBytes: 1, sha256: null });
const uploaded: OlderVersion = { ...version(1), uploaded: true };

test.each<[readonly OlderVersion[], number, number[]]>([
  [[version(1), version(2), version(3)], 2, [2, 3]],
  [[uploaded, version(2), version(3)], 2, [1, 2, 3]],
  [[uploaded, version(2), version(3)], 3, [1, 2, 3]],
  [[uploaded, version(7), version(8)], 1, [1, 8]],
  [[uploaded], 1, [1]],
  [[uploaded, version(2)], 0, []],
])('of %j with %i kept, %j are', (versions, count, kept) => {
  expect(lastVersions(versions, count).map(({ version }) => version)).toEqual(kept);
});
