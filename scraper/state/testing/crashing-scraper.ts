import { createHash } from 'node:crypto';
import { appendFileSync, writeSync } from 'node:fs';
import { SqliteLedger } from '../sqlite-ledger.ts';

/*
 * Scrapes WINDOWS windows of RECORDS records each into a file, which stands for the collector, until it is killed or
 * done; then it starts again where the ledger says. Arguments: state file, output file. It prints a letter for each
 * step.
 */

export const WINDOWS = 200;
const RECORDS = 200;
export const SOURCE = 'events';
export const START = Date.UTC(2026, 0, 1);
export const MINUTE = 60_000;

export const fingerprint = (record: string): string => createHash('sha256').update(record).digest('hex');
export const recordsOf = (start: number): string[] =>
  Array.from({ length: RECORDS }, (_, index) => `${(start - START) / MINUTE}/${index}`);

const fence = { token: 0n };
/** Later than all windows. */
const now = new Date(START + 2 * WINDOWS * MINUTE);

async function scrape(path: string, output: string): Promise<void> {
  const ledger = new SqliteLedger({ path, lockRetries: 50, lockBackoffMs: 1 });
  const step = (letter: string): number => writeSync(1, letter);
  const planned = (await ledger.source(SOURCE))?.plannedUntil;
  for (let from = planned; (from?.getTime() ?? START) < START + WINDOWS * MINUTE;) {
    const start = from?.getTime() ?? START;
    const windows = Array.from({ length: 20 }, (_, index) => ({
      start: new Date(start + index * MINUTE),
      end: new Date(start + (index + 1) * MINUTE),
    }));
    const until = new Date(start + windows.length * MINUTE);
    await ledger.plan(SOURCE, from, windows, until, fence);
    step('p');
    from = until;
  }
  // Out of order, four at a time, as parallel windows are.
  for (let due = await ledger.due(SOURCE, now, 4); due.length > 0; due = await ledger.due(SOURCE, now, 4)) {
    for (const { id, start, mayRepeat } of due.toReversed()) {
      const records = recordsOf(start.getTime());
      step(mayRepeat ? 'R' : 'r');
      await ledger.exporting(SOURCE, id, fence);
      step('e');
      appendFileSync(output, `${mayRepeat ? 'again' : 'first'} ${records.join(' ')}\n`);
      step('s');
      await ledger.exported(SOURCE, id, fence);
      step('x');
      const fingerprints = records.map(fingerprint);
      await ledger.commit(SOURCE, id, { now, fingerprints, ttlMs: MINUTE, maxEntries: 1_000_000 }, fence);
      step('c');
    }
  }
  await ledger.close();
}

const [path, output] = process.argv.slice(2);
if (import.meta.main && path !== undefined && output !== undefined) await scrape(path, output);
