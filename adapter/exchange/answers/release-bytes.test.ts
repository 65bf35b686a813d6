import { expect, test } from 'vitest';

import { releaseBytes } from './release-bytes.ts';

test('bytes that have a memory of their own give it back', () => {
  const bytes = Buffer.allocUnsafeSlow(1000);
  releaseBytes(bytes);
  expect([bytes.length, bytes.buffer.byteLength]).toEqual([0, 0]);
  releaseBytes(bytes);
});

test('bytes that share their memory with others keep it', () => {
  const whole = Buffer.allocUnsafeSlow(1000);
  releaseBytes(whole.subarray(0, 999));
  expect(whole.length).toBe(1000);
});
