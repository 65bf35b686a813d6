import { setImmediate as later } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { deadline } from './deadline.ts';
import { pause } from '../../lib/pause.ts';
import { within } from './waits.ts';

let warnings: string[];
const note = (warning: Error): void => void warnings.push(warning.name);
beforeEach(() => {
  warnings = [];
  process.on('warning', note);
});
afterEach(() => process.off('warning', note));

/** A lease may have run out while the process was frozen: what is left of it is then less than nothing. */
it.each<[string, () => Promise<unknown>]>([
  ['a pause', () => pause(-99.86, new AbortController().signal)],
  ['an answer', () => within(-99.86, new Promise(() => {})).catch(() => {})],
  [
    'a deadline',
    async () => {
      using limit = deadline(-99.86, 'the Lease');
      await pause(20, limit.signal);
      expect(limit.signal.aborted).toBe(true);
    },
  ],
])('O22: waits no time at all for %s whose time is over, and Node has nothing to say', async (_, wait) => {
  await wait();
  await later();
  expect(warnings).toEqual([]);
});
