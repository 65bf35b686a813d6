import { expect, test } from 'vitest';
import { backfillRange } from './backfill-range.ts';

const NOW = new Date('2026-03-01T12:00:00Z');

test.each([
  ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z', '2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z'],
  ['2026-01-01', '2026-01-02', '2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z'],
  ['2026-01-01T02:00:00+02:00', '2026-01-01T00:00:00.5Z', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.500Z'],
  ['1969-12-31T23:00:00Z', '2026-03-01T12:00:00Z', '1969-12-31T23:00:00.000Z', '2026-03-01T12:00:00.000Z'],
])('from %s to %s', (start, end, from, to) => {
  const range = backfillRange({ start, end }, NOW);
  expect([range.start.toISOString(), range.end.toISOString()]).toEqual([from, to]);
});

const start = '2026-01-01T00:00:00Z';
const end = '2026-01-02T00:00:00Z';

test.each<[object, string]>([
  [{}, 'start is missing'],
  [{ start }, 'end is missing'],
  [{ start, end, step: 1 }, '"step" is not known: the body has start and end, such as {"start": "2026'],
  [{ start: 'yesterday', end }, 'start must be a time in ISO 8601, such as'],
  [{ start: 1_767_225_600, end }, 'start must be a time'],
  [{ start: null, end }, 'start must be a time'],
  [{ start, end: '2026-13-01' }, 'end must be a time'],
  [{ start, end: '2026-02-30' }, 'end must be a time'],
  [{ start, end: '' }, 'end must be a time'],
  [{ start, end: ['2026-01-02'] }, 'end must be a time'],
  [{ start: end, end: start }, 'start must be before end'],
  [{ start, end: start }, 'start must be before end'],
  [{ start, end: '2026-03-01T12:00:01Z' }, 'end lies in the future; it is 2026-03-01T12:00:00.000Z now'],
  [{ start: '2026-01-01T00:00:00Z'.padEnd(60_000, '0'), end }, 'start must be a time'],
  [{ ['x'.repeat(60_000)]: 1 }, `"${'x'.repeat(40)}" is not known`],
])('%j is refused, and says why', (body, message) => {
  const refusal = () => backfillRange(body as Record<string, unknown>, NOW);
  expect(refusal).toThrow(expect.objectContaining({ status: 400 }));
  expect(refusal).toThrow(message);
});
