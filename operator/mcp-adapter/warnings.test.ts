import { expect, test } from 'vitest';
import { warningsOf } from './warnings.ts';

const file = '/state/adapter.sqlite3';
const mounted = (mountPath: string, name = 'adapter') => ({
  podOverlay: { spec: { containers: [{ name, volumeMounts: [{ name: 'state', mountPath }] }] } },
});

test('a state file in the storage is nothing to warn of', () => {
  expect(warningsOf({}, { statePathOutside: undefined })).toEqual([]);
});

test.each(['/state', '/state/', '/state/adapter.sqlite3'])('nor is one in a volume at %s', (mountPath) => {
  expect(warningsOf(mounted(mountPath), { statePathOutside: file })).toEqual([]);
});

test.each([
  ['nothing is mounted', {}],
  ['another folder is mounted', mounted('/stat')],
  ['a folder below is mounted', mounted('/state/adapter.sqlite3/x')],
  ['a sidecar mounts the folder', mounted('/state', 'sidecar')],
  ['the overlay has no containers', { podOverlay: { spec: { containers: 'x' } } }],
  ['the path of a mount is no path', mounted('/')],
])('a state file that is lost with its pod is told with what to do: %s', (_, spec) => {
  const warnings = warningsOf(spec, { statePathOutside: file });
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toContain(file);
  expect(warnings[0]).toContain('state_persistence.disk.local_path');
});
