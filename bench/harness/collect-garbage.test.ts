import { expect, test } from 'vitest';
import { inspectorUrl } from './collect-garbage.ts';

test('the address of the inspector is found among other output', () => {
  const url = 'ws://127.0.0.1:41234/0f2c936f-b1cd-4ac9-aab3-f63b0f33d55e';
  const log = `started\nDebugger listening on ${url}\nFor help, see: https://nodejs.org/en/docs/inspector\n`;
  expect(inspectorUrl(log)).toBe(url);
  expect(inspectorUrl('started\n')).toBeUndefined();
});
