import { expect, test } from 'vitest';
import { dottedPath } from '../../crds/config/load/problem.ts';
import { parsePath } from './parse-path.ts';

test.each([
  [[]],
  [['spec']],
  [['spec', 'config', 'servers', 0, 'upstream', 'url']],
  [['spec', 'config', 'servers', 12, 'upstream', 'static_headers', 'X-A.b [c] "d"']],
  [[0, 'a']],
])('%j comes back', (path) => {
  expect(parsePath(dottedPath(path))).toEqual(path);
});
