import { chmodSync, lstatSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { SqliteLedger } from './sqlite-ledger.ts';
import { lockStateFile } from './sqlite-lock.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ledger-'));
  chmodSync(folder, 0o755);
});
afterEach(() => rmSync(folder, { recursive: true }));

const modeOf = (...path: string[]): string => (lstatSync(join(folder, ...path)).mode & 0o7777).toString(8);

/** The modes of the files while the ledger is open. */
async function modes(path: string): Promise<Record<string, string>> {
  const unlock = lockStateFile(path);
  const ledger = new SqliteLedger({ path, lockRetries: 0, lockBackoffMs: 1 });
  try {
    return Object.fromEntries(
      ['', '-wal', '-shm', '.lock'].map((suffix) => [
        suffix,
        (lstatSync(`${path}${suffix}`).mode & 0o7777).toString(8),
      ]),
    );
  } finally {
    await ledger.close();
    unlock();
  }
}

const PRIVATE = { '': '600', '-wal': '600', '-shm': '600', '.lock': '600' };

describe('L4 T21: the ledger with windows, addresses and fingerprints', () => {
  test('is for its owner only, and so is the folder that is made for it', async () => {
    expect(await modes(join(folder, 'made', 's.db'))).toEqual(PRIVATE);
    expect(modeOf('made')).toBe('700');
  });

  test('of an earlier release is closed to others, in a folder that stays as it is', async () => {
    const path = join(folder, 's.db');
    for (const suffix of ['', '.lock']) {
      writeFileSync(`${path}${suffix}`, '');
      chmodSync(`${path}${suffix}`, 0o644);
    }
    expect(await modes(path)).toEqual(PRIVATE);
    expect(modeOf()).toBe('755');
  });
});
