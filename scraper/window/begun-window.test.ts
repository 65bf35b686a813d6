import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { BegunWindow, CrashedTwice } from './begun-window.ts';
import { Semaphore } from '../limits/semaphore.ts';
import { SqliteLedger } from '../state/sqlite-ledger.ts';
import { FENCE } from '../testing/source-kit.ts';

const never = new AbortController().signal;
const LARGE = 262_144;

let folder: string;
let ledger: SqliteLedger;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'begun-'));
  ledger = new SqliteLedger({ path: join(folder, 's.db'), lockRetries: 0, lockBackoffMs: 0 });
});
afterEach(async () => {
  await ledger.close();
  rmSync(folder, { recursive: true });
});

/** A process, which ends without a word when it is forgotten. */
function life(isRange = true) {
  const parts = { source: 's', isRange, ledger, begun: new Set<string>(), suspects: new Semaphore(1) };
  return (id: string): BegunWindow => new BegunWindow({ id }, parts);
}
const arrived = (window: BegunWindow, bytes = LARGE): Promise<void> => window.arrived(bytes, FENCE, never);

/** Whether it goes on once everybody has had a turn; a ledger in a file answers at once. */
const goesOn = (work: Promise<unknown>): Promise<boolean> =>
  Promise.race([work.then(() => true), new Promise<boolean>((resolve) => setImmediate(() => resolve(false)))]);

describe('T17: a window that is read', () => {
  test('at two crashes is not read again, and others are', async () => {
    await arrived(life()('a'));
    await arrived(life()('a'));
    const third = life();
    await expect(arrived(third('a'))).rejects.toBeInstanceOf(CrashedTwice);
    await arrived(third('b'));
  });

  test('is noted once its pages are large together', async () => {
    const small = life()('a');
    await arrived(small, LARGE - 1);
    expect(await ledger.begin('s', 'a', FENCE)).toBe(0);
    await ledger.letGo('s', 'a');
    await arrived(small, 1);
    expect(await ledger.begin('s', 'a', FENCE)).toBe(1);
  });

  test('is noted once in the life of a process, and anew when that has let it go', async () => {
    const first = life();
    await arrived(first('a'));
    await arrived(first('a'));
    expect(await ledger.begin('s', 'a', FENCE)).toBe(1);
    await ledger.letGo('s', 'a');
    await first('a').letGo();
    await arrived(first('a'));
    expect(await ledger.begin('s', 'a', FENCE)).toBe(1);
  });

  test.each(['ended', 'giveBack', 'letGo'] as const)(
    'at a crash waits for others of these until %s, and does not count meanwhile',
    async (end) => {
      const first = life();
      for (const id of ['a', 'b']) await arrived(first(id));
      const second = life();
      const [a, b] = [second('a'), second('b')];
      await arrived(a);
      const waiting = arrived(b);
      expect(await goesOn(waiting)).toBe(false);
      expect(await ledger.begin('s', 'b', FENCE)).toBe(1);
      await ledger.letGo('s', 'b');
      await a[end]();
      expect(await goesOn(waiting)).toBe(true);
      expect(await ledger.begin('s', 'b', FENCE)).toBe(2);
    },
  );

  test('of moments is always the same one', async () => {
    await arrived(life(false)('a'));
    await arrived(life(false)('b'));
    await expect(arrived(life(false)('c'))).rejects.toBeInstanceOf(CrashedTwice);
  });
});
