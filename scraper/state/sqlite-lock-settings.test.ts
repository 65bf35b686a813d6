import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FingerprintStore } from '../../crds/config/scraper-file/fingerprint-store.ts';
import { StateUnavailable } from './ledger.ts';
import { openState } from './open-state.ts';

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'locked-'));
  path = join(folder, 'state.db');
});
afterEach(() => rm(folder, { recursive: true }));

/** Milliseconds until a write to a file that stays locked is given up. */
async function patience(settings: Record<string, unknown>): Promise<number> {
  const store = FingerprintStore.parse({ ...settings, sqlite: { path } });
  const state = await openState(store, { pod: 'pod', clock: () => performance.now(), onError: () => undefined });
  const other = new DatabaseSync(path);
  other.exec('BEGIN IMMEDIATE');
  const started = performance.now();
  try {
    await expect(state.ledger.pause('s')).rejects.toThrow(StateUnavailable);
    return performance.now() - started;
  } finally {
    other.close();
    await state.close();
  }
}

test('lockRetries: a locked file is tried again so many times', async () => {
  const none = await patience({ lockRetries: 0, lockBackoffSeconds: 0.2 });
  const two = await patience({ lockRetries: 2, lockBackoffSeconds: 0.2 });
  expect(none).toBeLessThan(200);
  expect(two).toBeGreaterThan(590);
});

test('lockBackoffSeconds: so long is waited before the first of them', async () => {
  const short = await patience({ lockRetries: 1, lockBackoffSeconds: 0 });
  const long = await patience({ lockRetries: 1, lockBackoffSeconds: 0.4 });
  expect(short).toBeLessThan(300);
  expect(long).toBeGreaterThan(390);
});
