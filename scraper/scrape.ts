import { setImmediate } from 'node:timers/promises';
import type { BegunWindow } from './begun-window.ts';
import type { Slots } from './slots.ts';
import { BYTES_OF_A_FINGERPRINT, type Budget, type Claims, Gathered, type KeptWindows, NoRoom } from './gathered.ts';
import type { MemoryBudget } from './memory-budget.ts';
import type { TimeSpan } from './output/contribution.ts';
import { ExportFailure, type Emitter } from './output/emitter.ts';
import type { PreparedSource } from './prepared-source.ts';
import { type FetchDependencies, type Page, pages } from './requests/fetch-window.ts';
import { type Fence, type Ledger, type LedgerWindow, StateUnavailable } from './state/ledger.ts';

/** What a window needs. */
export interface ScrapeParts {
  readonly prepared: PreparedSource;
  readonly fetch: FetchDependencies;
  readonly ledger: Ledger;
  readonly emitter: Emitter;
  /** Windows of the source that are fetched at a time. */
  readonly fetching: Slots;
  readonly claims: Claims;
  readonly kept: KeptWindows;
  readonly budget: Budget;
  readonly memory: MemoryBudget;
  readonly begun: BegunWindow;
  readonly now: () => Date;
}

/** Records that are worked on before the clock is looked at. */
const RECORDS_AT_ONCE = 1000;
/** What is made around each log record. */
const COST_OF_A_RECORD = 512;
/** Milliseconds of work after which others have their turn: health checks must be answered meanwhile. */
const TURN_MS = 25;

/**
 * One window, from its requests to its commit. Nothing is remembered before the collector has acknowledged, and a failure
 * anywhere leaves the window open. Undefined: the source has moved to another pod, and nothing was written.
 *
 * @throws NoRoom when it has to wait for the next run
 * @throws RequestFailure, ShapeMismatch, CrashedTwice, ExportFailure or StateUnavailable; the reason of `signal` when that aborted
 */
export async function scrapeWindow(
  window: LedgerWindow,
  parts: ScrapeParts,
  fence: Fence,
  signal: AbortSignal,
): Promise<Gathered | undefined> {
  const { prepared, ledger, emitter, claims, kept, now } = parts;
  const { name } = prepared.source;
  const gathered = kept.take(name, window.id) ?? (await fetched(window, parts, fence, signal));
  const release = (): void => {
    gathered.memory?.[Symbol.dispose]();
    claims.release(gathered.fingerprints);
    emitter.giveUp(gathered.contribution);
  };
  try {
    if (!gathered.isAcknowledged && !gathered.contribution.isEmpty) {
      if (!(await ledger.exporting(name, window.id, fence))) return undefined;
      await emitter.emit([gathered.contribution], signal);
      gathered.isAcknowledged = true;
      if (!(await ledger.exported(name, window.id, fence))) return undefined;
    }
    const commit = {
      now: now(),
      fingerprints: gathered.fingerprints,
      ttlMs: prepared.fingerprintTtlMs,
      maxEntries: prepared.maxFingerprints,
    };
    if (!(await ledger.commit(name, window.id, commit, fence))) return undefined;
    kept.committed(name, window.id);
    return gathered;
  } catch (error) {
    if (error instanceof ExportFailure) gathered.mayRepeat ||= error.mayHaveArrived;
    if (gathered.contribution.isCounted) kept.noteCounted(name, window.id);
    if (!isWorthKeeping(error, gathered)) throw error;
    kept.keep(name, window.id, gathered, release);
    throw error;
  } finally {
    if (!kept.has(name, window.id)) release();
  }
}

/**
 * What the collector refuses, it would refuse again; with other records it may not. But what it has counted must not be
 * counted again.
 */
const isWorthKeeping = (error: unknown, { isAcknowledged, contribution }: Gathered): boolean =>
  (error instanceof ExportFailure && (error.retryable || contribution.isCounted)) ||
  (error instanceof StateUnavailable && isAcknowledged);

async function fetched(window: LedgerWindow, parts: ScrapeParts, fence: Fence, signal: AbortSignal): Promise<Gathered> {
  const release = await parts.fetching.take(signal);
  try {
    return await gather(window, parts, fence, signal);
  } finally {
    release();
  }
}

async function gather(window: LedgerWindow, parts: ScrapeParts, fence: Fence, signal: AbortSignal): Promise<Gathered> {
  const { prepared, claims, kept, begun, budget, now } = parts;
  const memory = parts.memory.share();
  const fetch = { ...parts.fetch, memory, arrived: (bytes: number) => begun.arrived(bytes, fence, signal) };
  const isCounted = kept.isCounted(prepared.source.name, window.id);
  const gathered = new Gathered(now(), {
    sentBefore: window.mayRepeat,
    isCounted,
    window: timeOf(window, prepared),
    memory,
  });
  const hadRoom = budget.hasRoom;
  const time = { observed: BigInt(gathered.asked.getTime()) * 1_000_000n, window };
  try {
    for await (const page of pages(prepared.source, prepared.isRange ? window : undefined, fetch, signal)) {
      if (prepared.fingerprint !== undefined) {
        await memory.take(page.records.length * BYTES_OF_A_FINGERPRINT, signal);
      }
      const records = await selected(page, gathered, parts);
      gathered.records += records.length;
      await inChunks(records, (some) => prepared.addReadings(some, page.body, gathered.contribution, time));
      gathered.bytes += page.bytes;
      if (prepared.source.emitLogs && records.length > 0) {
        gathered.logBytes += page.held + records.length * COST_OF_A_RECORD;
      }
      memory.keep(gathered.held);
    }
    prepared.addReadings.end?.(gathered.contribution);
    signal.throwIfAborted();
    // The window at the limit is cut, and told; what is committed is never asked for again. Later ones wait.
    if (gathered.leftOut > 0 && !hadRoom) throw new NoRoom();
    return gathered;
  } catch (error) {
    memory[Symbol.dispose]();
    claims.release(gathered.fingerprints);
    budget.giveBack(gathered.records);
    throw error;
  }
}

/** When the points of a window are; undefined: when they are exported, as those of the present always are. */
function timeOf({ start, end }: LedgerWindow, { isRange, source }: PreparedSource): TimeSpan | undefined {
  if (!isRange || source.pointTime === 'scrape') return undefined;
  return { start: BigInt(start.getTime()) * 1_000_000n, end: BigInt(end.getTime()) * 1_000_000n };
}

/** The records of a page that are emitted: they pass the filters, were not emitted before, and there is room for them. */
async function selected(page: Page, gathered: Gathered, parts: ScrapeParts): Promise<readonly unknown[]> {
  const { fingerprint } = parts.prepared;
  if (fingerprint === undefined) {
    const passed: unknown[] = [];
    await inChunks(page.records, (some) => passed.push(...parts.prepared.filter(some, page.body)));
    const room = parts.budget.take(passed.length);
    gathered.leftOut += passed.length - room;
    return room < passed.length ? passed.slice(0, room) : passed;
  }
  const candidates = new Map<string, unknown>();
  try {
    await inChunks(page.records, (some) => {
      for (const record of parts.prepared.filter(some, page.body)) {
        const hash = fingerprint(record, page.body);
        // Claimed before the ledger is asked: whoever has it until then has committed it by then, or will.
        if (parts.claims.claim(hash)) candidates.set(hash, record);
        else gathered.unchanged += 1;
      }
    });
    return await unseen(candidates, gathered, parts);
  } catch (error) {
    parts.claims.release(candidates.keys());
    throw error;
  }
}

async function unseen(
  candidates: ReadonlyMap<string, unknown>,
  gathered: Gathered,
  { prepared, ledger, claims, budget, now }: ScrapeParts,
): Promise<readonly unknown[]> {
  const seen = await ledger.seen(prepared.source.name, [...candidates.keys()], now());
  const room = budget.take(candidates.size - seen.size);
  gathered.unchanged += seen.size;
  gathered.leftOut += candidates.size - seen.size - room;
  const fresh: unknown[] = [];
  for (const [hash, record] of candidates) {
    if (seen.has(hash) || fresh.length === room) {
      claims.release([hash]);
      continue;
    }
    fresh.push(record);
    gathered.fingerprints.push(hash);
  }
  return fresh;
}

async function inChunks<T>(items: readonly T[], work: (some: readonly T[]) => void): Promise<void> {
  let since = performance.now();
  for (let from = 0; from < items.length; from += RECORDS_AT_ONCE) {
    if (performance.now() - since > TURN_MS) {
      await setImmediate();
      since = performance.now();
    }
    work(items.length <= RECORDS_AT_ONCE ? items : items.slice(from, from + RECORDS_AT_ONCE));
  }
}
