import { expect, test } from 'vitest';
import { CrashedTwice } from './begun-window.ts';
import { NoMemory } from '../limits/memory-budget.ts';
import { ExportFailure } from '../output/emitter.ts';
import { ShapeMismatch } from '../records/shape-mismatch.ts';
import { RequestFailure } from '../requests/failure.ts';
import { StateUnavailable } from '../state/ledger.ts';
import { reportOf } from './window-failure.ts';

/** What JavaScript says when a walk goes too deep. */
function tooDeep(): unknown {
  const walk = (depth: number): number => 1 + walk(depth + 1);
  try {
    return walk(0);
  } catch (error) {
    return error;
  }
}

test.each<[unknown, object]>([
  [
    new RequestFailure('status', 'no', { status: 429, retryAfterMs: 5 }),
    { kind: 'status', status: 429, retryAfterMs: 5 },
  ],
  [new NoMemory('no room'), { kind: 'too_large', message: expect.stringMatching(/^no room; ask for smaller pages/) }],
  [new ShapeMismatch('no list'), { kind: 'shape', message: 'no list' }],
  [new ExportFailure('away', { retryable: true }), { kind: 'export', isCollectors: true, mayHaveArrived: true }],
  [new ExportFailure('away', { retryable: true, mayHaveArrived: false }), { kind: 'export', mayHaveArrived: false }],
  [new ExportFailure('bad', { retryable: false }), { kind: 'export_refused', isCollectors: false }],
  [new CrashedTwice(), { kind: 'crash', isFinal: true }],
  [new StateUnavailable('locked'), { kind: 'state' }],
  [tooDeep(), { kind: 'shape', message: 'a record is nested too deeply' }],
  [new RangeError('Invalid array length'), { kind: 'internal', message: 'Invalid array length' }],
  [new Error('x'.repeat(1000)), { kind: 'internal', message: 'x'.repeat(500) }],
  ['thrown', { kind: 'internal', message: 'thrown' }],
])('%s', (error, report) => {
  expect(reportOf(error)).toMatchObject(report);
});
