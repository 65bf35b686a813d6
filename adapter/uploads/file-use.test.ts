import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { FileKey } from '../state/file-records.ts';
import { FileUse, leaseUntil, RenewedLease } from './file-use.ts';

const KEY: FileKey = { serverId: 's1', sessionId: 'a', kind: 'upload', fileId: 'f' };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe.each([60_000, 0, null])('files of a call that may take %j ms', (timeoutMs) => {
  test('are in use until it ends, however long its client takes to answer questions', async () => {
    let until = leaseUntil(Date.now(), timeoutMs);
    const records = {
      lease: vi.fn(async (_: readonly FileKey[], extended: number) => void (until = extended)),
      release: vi.fn(async () => undefined),
      now: () => Date.now(),
    };
    const use = new FileUse(records, [KEY], timeoutMs);
    for (let second = 0; second < 1_800; second++) {
      vi.advanceTimersByTime(1_000);
      expect(until).toBeGreaterThan(Date.now() + 20_000);
    }
    await use.end();
    expect(records.release).toHaveBeenCalledOnce();
    const { calls } = records.lease.mock;
    const renewed = calls.length;
    vi.advanceTimersByTime(600_000);
    expect(calls).toHaveLength(renewed);
  });
});

test('a lease that could not be extended is extended at the next turn', () => {
  const lease = vi.fn(async () => Promise.reject(new Error('away')));
  const renewed = new RenewedLease({ lease, now: () => Date.now() }, [KEY], null);
  vi.advanceTimersByTime(60_000);
  expect(lease).toHaveBeenCalledTimes(3);
  renewed.stop();
});
