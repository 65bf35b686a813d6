import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SqliteLedger } from './sqlite-ledger.ts';
import { fingerprint, MINUTE, recordsOf, SOURCE, START, WINDOWS } from './testing/crashing-scraper.ts';

const KILLS = 12;
const program = join(import.meta.dirname, 'testing', 'crashing-scraper.ts');
const now = new Date(START + 2 * WINDOWS * MINUTE);

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'crash-'));
});
afterEach(() => rm(folder, { recursive: true }));

/** RunHistory the scraper until it has done so many steps, or to its end. Returns whether it came to its end. */
async function run(path: string, output: string, steps: number, waitMs: number): Promise<boolean> {
  const child = spawn(process.execPath, [program, path, output], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  let done = 0;
  child.stdout.on('data', (letters: Buffer) => {
    const before = done;
    done += letters.length;
    if (before < steps && done >= steps) void delay(waitMs).then(() => child.kill('SIGKILL'));
  });
  const [code] = await exited;
  return code === 0;
}

/** What the output holds: record → how often; and how often only by windows that were not known to repeat. */
function delivered(output: string): { all: Map<string, number>; first: Map<string, number> } {
  const [all, first] = [new Map<string, number>(), new Map<string, number>()];
  const lines = existsSync(output) ? readFileSync(output, 'utf8').split('\n') : [];
  for (const line of lines) {
    const [mark, ...records] = line.split(' ');
    for (const record of records) {
      all.set(record, (all.get(record) ?? 0) + 1);
      if (mark === 'first') first.set(record, (first.get(record) ?? 0) + 1);
    }
  }
  return { all, first };
}

async function check(path: string, output: string): Promise<void> {
  const ledger = new SqliteLedger({ path, lockRetries: 50, lockBackoffMs: 1 });
  try {
    const { all } = delivered(output);
    const state = await ledger.source(SOURCE);
    const watermark = state?.watermark?.getTime() ?? START;
    for (let start = START; start < watermark; start += MINUTE) {
      expect(recordsOf(start).every((record) => all.has(record))).toBe(true);
    }
    const windows = await ledger.windows(SOURCE, { offset: 0, limit: 1000 });
    const uncommitted = windows.filter((window) => window.state !== 'committed');
    expect(uncommitted.every((window) => window.start.getTime() >= watermark)).toBe(true);
    // Fingerprints are there exactly for committed windows.
    for (const window of windows) {
      const hashes = recordsOf(window.start.getTime()).map(fingerprint);
      const seen = await ledger.seen(SOURCE, hashes, now);
      expect(seen.size).toBe(window.state === 'committed' ? hashes.length : 0);
    }
  } finally {
    await ledger.close();
  }
}

test(`a scraper that is killed ${KILLS} times delivers every record, and repeats only what it knows it may`, async () => {
  const [path, output] = [join(folder, 'ledger.db'), join(folder, 'output')];
  let kills = 0;
  for (let end = false; !end;) {
    const steps = kills < KILLS ? 1 + Math.floor(Math.random() * 60) : Number.POSITIVE_INFINITY;
    end = await run(path, output, steps, Math.random() * 5);
    if (!end) kills += 1;
    await check(path, output);
  }
  const { all, first } = delivered(output);
  for (let start = START; start < START + WINDOWS * MINUTE; start += MINUTE) {
    for (const record of recordsOf(start)) expect(all.get(record)).toBeGreaterThanOrEqual(1);
  }
  expect(kills).toBeGreaterThan(KILLS / 2);
  // A line that a kill has cut short counts as not delivered, so a record is there once without the mark.
  expect(Math.max(...first.values())).toBe(1);
}, 120_000);
