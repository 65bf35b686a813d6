import { expect, test } from 'vitest';

import { ERROR, kindOfMembers, type KindOfMembers, METHOD, RESULT } from './message-members.ts';

test.each<[what: string, seen: number, nulls: number, hasId: boolean, kind: KindOfMembers | undefined]>([
  ['a request', METHOD, 0, true, 'other'],
  ['a notification', METHOD, 0, false, 'other'],
  ['a result', RESULT, 0, true, 'result'],
  ['a result that is null', RESULT, RESULT, true, 'result'],
  ['a result with an error that is null', RESULT | ERROR, ERROR, true, 'result'],
  ['an error', ERROR, 0, true, 'error'],
  ['an error of no request', ERROR, 0, false, 'error'],
  ['an error with a result that is null', RESULT | ERROR, RESULT, true, 'error'],
  ['both, and both null', RESULT | ERROR, RESULT | ERROR, true, 'result'],
  ['an error that is null', ERROR, ERROR, true, 'error'],
  ['a result of no request', RESULT, 0, false, undefined],
  ['both', RESULT | ERROR, 0, true, undefined],
  ['a request with a result', METHOD | RESULT, 0, true, undefined],
  ['a request with an error', METHOD | ERROR, 0, true, undefined],
  ['nothing', 0, 0, true, undefined],
])('%s', (_, seen, nulls, hasId, kind) => {
  expect(kindOfMembers(seen, nulls, hasId)).toBe(kind);
});
