import { describe, expect, test } from 'vitest';
import { keyOf, placeOf } from './s3-keys.ts';

const [S, F] = ['0123456789abcdef'.repeat(2), 'f'.repeat(32)];
const place = { kind: 'upload', sessionId: S, fileId: F, filename: 'größe 1.txt' } as const;

test.each(['', 'adapter/', 'mcp-'])('a key with the prefix %j says where the file belongs', (prefix) => {
  const key = keyOf(prefix, place);
  expect(key).toBe(`${prefix}uploads/sessions/${S}/${F}/größe 1.txt`);
  expect(placeOf(prefix, 'upload', key)).toEqual(place);
  expect(placeOf(prefix, 'artifact', key)).toBeUndefined();
});

describe('what others keep in the bucket is none of our files', () => {
  test.each([
    `uploads/sessions/${S}/${F}/`,
    `uploads/sessions/${S}/${F}`,
    `uploads/sessions/${S}/${F}/a/b`,
    `uploads/sessions/${S.toUpperCase()}/${F}/a`,
    `uploads/sessions/${S}0/${F}/a`,
    `uploads/sessions/../${F}/a`,
    `x/uploads/sessions/${S}/${F}/a`,
    `artifacts/sessions/${S}/${F}/a`,
  ])('%s', (key) => {
    expect(placeOf('', 'upload', key)).toBeUndefined();
  });
});
