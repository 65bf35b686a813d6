import { describe, expect, test } from 'vitest';

import { byteRange } from './byte-range.ts';

const known = { etag: '"a-1"', lastModified: 'Sat, 21 Nov 2026 20:00:00 GMT' };

describe('the range of a download', () => {
  test.each([
    ['bytes=0-', { kind: 'part', start: 0, end: 99 }],
    ['bytes=10-19', { kind: 'part', start: 10, end: 19 }],
    ['Bytes=10-19', { kind: 'part', start: 10, end: 19 }],
    ['bytes=90-500', { kind: 'part', start: 90, end: 99 }],
    ['bytes=-10', { kind: 'part', start: 90, end: 99 }],
    ['bytes=99-99', { kind: 'part', start: 99, end: 99 }],
    ['bytes=100-', { kind: 'unsatisfiable' }],
    ['bytes=20-10', { kind: 'unsatisfiable' }],
    ['bytes=0-1,5-6', { kind: 'whole' }],
    ['bytes=0-1,500-600', { kind: 'whole' }],
    ['bytes=a-b', { kind: 'whole' }],
    ['bytes=', { kind: 'whole' }],
    ['items=0-5', { kind: 'whole' }],
    [undefined, { kind: 'whole' }],
  ])('%s of 100 bytes', (range, expected) => {
    expect(byteRange({ range }, 100, known)).toEqual(expected);
  });

  test('of an empty file cannot be had', () => {
    expect(byteRange({ range: 'bytes=0-' }, 0, known)).toEqual({ kind: 'unsatisfiable' });
  });

  test.each([
    [known.etag, 'part'],
    [known.lastModified, 'part'],
    ['"b-1"', 'whole'],
    ['W/"a-1"', 'whole'],
    ['Sat, 21 Nov 2026 19:00:00 GMT', 'whole'],
  ])('with If-Range: %s is %s', (ifRange, kind) => {
    expect(byteRange({ range: 'bytes=0-5', 'if-range': ifRange }, 100, known).kind).toBe(kind);
  });
});
