import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { DryRunEmitter, type Shown } from './output/dry-run-emitter.ts';
import { SelfTelemetry } from './output/self-telemetry.ts';
import { Scheduler } from './source/scheduler.ts';
import { SqliteLedger } from './state/sqlite-ledger.ts';
import { readableLogger } from './testing/source-kit.ts';
import { Maintenance } from './maintenance.ts';

const FENCE = { token: 0n };
const HASH = 'a'.repeat(64);

let folder: string;
let ledger: SqliteLedger;
const scheduler = (): Scheduler => new Scheduler();

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'maintenance-'));
  ledger = new SqliteLedger({ path: join(folder, 'state.db'), lockRetries: 0, lockBackoffMs: 0 });
});
afterEach(async () => {
  await ledger.close();
  await rm(folder, { recursive: true });
});

/** An maintenance every few milliseconds, whose metrics can be read. */
function maintenance({ cleanUpMs = 20, telemetryMs = 20 } = {}) {
  const shown: Shown[] = [];
  const emitter = new DryRunEmitter((what) => shown.push(what));
  const timers = scheduler();
  const { logger, lines } = readableLogger();
  const made = new Maintenance({
    scheduler: timers,
    logger,
    now: () => new Date(),
    random: () => 0.5,
    backend: 'sqlite',
    cleanUpMs,
    telemetry: new SelfTelemetry(emitter, () => new Date()),
    telemetryMs,
    sources: () => [
      { ...STATUS, name: 'mine' },
      { ...STATUS, name: 'theirs', owner: false },
    ],
  });
  const stop = async (): Promise<void> => {
    timers.stop();
    await made.stop();
  };
  return { maintenance: made, shown, lines, stop, emitter };
}

const STATUS = {
  name: '',
  owner: true,
  running: false,
  paused: false,
  lastRun: undefined,
  lastSuccess: undefined,
  watermark: undefined,
  openWindows: 3,
  deadWindows: 1,
  records: undefined,
  lastError: undefined,
  nextRun: undefined,
  unusable: undefined,
};

test('fingerprints that have expired are removed, and counted', async () => {
  const [start, end] = [new Date(1000), new Date(2000)];
  await ledger.plan('mine', undefined, [{ start, end }], end, FENCE);
  const [window] = await ledger.due('mine', new Date(), 1);
  const commit = { now: start, fingerprints: [HASH], ttlMs: 1000, maxEntries: 10 };
  await ledger.commit('mine', window?.id ?? '', commit, FENCE);
  const { maintenance: running, shown, lines, stop } = maintenance();
  running.start(ledger);
  await vi.waitFor(() =>
    expect(lines).toContainEqual(expect.objectContaining({ msg: 'cleanup done', fingerprints: 1 })),
  );
  await stop();
  expect(shown.flatMap(({ metrics }) => metrics)).toContainEqual(
    expect.objectContaining({
      name: 'scraper_cleanup_items_total',
      attributes: { job: 'fingerprint_cleanup', backend: 'sqlite' },
      value: 1,
    }),
  );
});

test('own metrics are sent from time to time, and at the end: of the sources of this pod', async () => {
  const { maintenance: running, shown, stop } = maintenance({ cleanUpMs: 1e6 });
  running.start(ledger);
  await vi.waitFor(() => expect(shown.length).toBeGreaterThan(1));
  await stop();
  const before = shown.length;
  await new Promise((resolve) => setTimeout(resolve, 60));
  expect(shown).toHaveLength(before);
  expect(shown.at(-1)?.metrics).toEqual([
    expect.objectContaining({ name: 'scraper_windows_open', attributes: { source: 'mine' }, value: 3 }),
    expect.objectContaining({ name: 'scraper_windows_dead', attributes: { source: 'mine' }, value: 1 }),
  ]);
});

test('what fails is said, and done again', async () => {
  const { maintenance: running, lines, stop, emitter } = maintenance();
  emitter.emit = () => Promise.reject(new Error('the collector is away'));
  await ledger.close();
  running.start(ledger);
  await vi.waitFor(() => {
    expect(lines.filter(({ msg }) => msg === 'cleanup failed').length).toBeGreaterThan(1);
    expect(lines.filter(({ error }) => error === 'the collector is away').length).toBeGreaterThan(1);
  });
  await stop();
});
