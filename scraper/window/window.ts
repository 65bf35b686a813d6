import { inChunks } from './in-chunks.ts';
import type { BegunWindow } from './begun-window.ts';
import type { Semaphore } from '../limits/semaphore.ts';
import type { InFlightSet } from './in-flight-set.ts';
import { BudgetExceeded, type RecordBudget } from './record-budget.ts';
import type { RetryBuffer } from './retry-buffer.ts';
import { BYTES_OF_A_FINGERPRINT, WindowResult } from './window-result.ts';
import type { MemoryBudget } from '../limits/memory-budget.ts';
import type { TimeSpan } from '../output/contribution.ts';
import { ExportFailure, type Emitter } from '../output/emitter.ts';
import type { PreparedSource } from './prepared-source.ts';
import { type FetchDependencies, type Page, pages } from '../requests/fetch-window.ts';
import { type Fence, type Ledger, type LedgerWindow, StateUnavailable } from '../state/ledger.ts';

/** What a window needs. */
export interface WindowDeps {
  readonly prepared: PreparedSource;
  readonly fetch: FetchDependencies;
  readonly ledger: Ledger;
  readonly emitter: Emitter;
  /** Windows of the source that are fetched at a time. */
  readonly fetching: Semaphore;
  readonly inFlightRecords: InFlightSet;
  readonly retryBuffer: RetryBuffer;
  readonly budget: RecordBudget;
  readonly memory: MemoryBudget;
  readonly begun: BegunWindow;
  readonly now: () => Date;
}

/** What is made around each log record. */
const COST_OF_A_RECORD = 512;

/**
 * One window, from its requests to its commit: fetch, delta, emit, acknowledge. Nothing is remembered before the collector
 * has acknowledged, and a failure anywhere leaves the window open.
 */
export class Window {
  readonly #window: LedgerWindow;
  readonly #deps: WindowDeps;
  readonly #fence: Fence;
  readonly #signal: AbortSignal;

  /** @param signal gives it up; it stays uncommitted */
  constructor(window: LedgerWindow, deps: WindowDeps, fence: Fence, signal: AbortSignal) {
    this.#window = window;
    this.#deps = deps;
    this.#fence = fence;
    this.#signal = signal;
  }

  /**
   * Undefined: the source has moved to another pod, and nothing was written.
   *
   * @throws BudgetExceeded when it has to wait for the next run
   * @throws RequestFailure, ShapeMismatch, CrashedTwice, ExportFailure or StateUnavailable; the reason of the signal when that aborted
   */
  async scrape(): Promise<WindowResult | undefined> {
    const { prepared, emitter, inFlightRecords, retryBuffer } = this.#deps;
    const { name } = prepared.source;
    const { id } = this.#window;
    const result = retryBuffer.take(name, id) ?? (await this.#fetchInTurn());
    const release = (): void => {
      result.memory?.[Symbol.dispose]();
      inFlightRecords.release(result.fingerprints);
      emitter.giveUp(result.contribution);
    };
    try {
      if (!(await this.#emit(result)) || !(await this.#commit(result))) return undefined;
      retryBuffer.committed(name, id);
      return result;
    } catch (error) {
      if (error instanceof ExportFailure) result.mayRepeat ||= error.mayHaveArrived;
      if (result.contribution.isCounted) retryBuffer.noteCounted(name, id);
      if (isWorthKeeping(error, result)) retryBuffer.keep(name, id, result, release);
      throw error;
    } finally {
      if (!retryBuffer.has(name, id)) release();
    }
  }

  async #fetchInTurn(): Promise<WindowResult> {
    const release = await this.#deps.fetching.take(this.#signal);
    try {
      return await this.#fetch();
    } finally {
      release();
    }
  }

  async #fetch(): Promise<WindowResult> {
    const { prepared, inFlightRecords, retryBuffer, begun, budget, now } = this.#deps;
    const window = this.#window;
    const signal = this.#signal;
    const memory = this.#deps.memory.share();
    const fetch = {
      ...this.#deps.fetch,
      memory,
      arrived: (bytes: number) => begun.arrived(bytes, this.#fence, signal),
    };
    const result = new WindowResult(now(), {
      sentBefore: window.mayRepeat,
      isCounted: retryBuffer.isCounted(prepared.source.name, window.id),
      window: timeOf(window, prepared),
      memory,
    });
    const hadRoom = budget.hasRoom;
    const time = { observed: BigInt(result.asked.getTime()) * 1_000_000n, window };
    try {
      for await (const page of pages(prepared.source, prepared.isRange ? window : undefined, fetch, signal)) {
        if (prepared.fingerprint !== undefined) {
          await memory.take(page.records.length * BYTES_OF_A_FINGERPRINT, signal);
        }
        const records = await this.#delta(page, result);
        result.records += records.length;
        await inChunks(records, (some) => prepared.addReadings(some, page.body, result.contribution, time));
        result.bytes += page.bytes;
        if (prepared.source.emitLogs && records.length > 0) {
          result.logBytes += page.held + records.length * COST_OF_A_RECORD;
        }
        memory.keep(result.held);
      }
      prepared.addReadings.end?.(result.contribution);
      signal.throwIfAborted();
      // The window at the limit is cut, and told; what is committed is never asked for again. Later ones wait.
      if (result.leftOut > 0 && !hadRoom) throw new BudgetExceeded();
      return result;
    } catch (error) {
      memory[Symbol.dispose]();
      inFlightRecords.release(result.fingerprints);
      budget.giveBack(result.records);
      throw error;
    }
  }

  /** The records of a page that are emitted: they pass the filters, were not emitted before, and there is room for them. */
  async #delta(page: Page, result: WindowResult): Promise<readonly unknown[]> {
    const { prepared, budget, inFlightRecords } = this.#deps;
    const { fingerprint } = prepared;
    if (fingerprint === undefined) {
      const passed: unknown[] = [];
      await inChunks(page.records, (some) => passed.push(...prepared.filter(some, page.body)));
      const room = budget.take(passed.length);
      result.leftOut += passed.length - room;
      return room < passed.length ? passed.slice(0, room) : passed;
    }
    const candidates = new Map<string, unknown>();
    try {
      await inChunks(page.records, (some) => {
        for (const record of prepared.filter(some, page.body)) {
          const hash = fingerprint(record, page.body);
          // Claimed before the ledger is asked: whoever has it until then has committed it by then, or will.
          if (inFlightRecords.claim(hash)) candidates.set(hash, record);
          else result.unchanged += 1;
        }
      });
      return await this.#unseen(candidates, result);
    } catch (error) {
      inFlightRecords.release(candidates.keys());
      throw error;
    }
  }

  async #unseen(candidates: ReadonlyMap<string, unknown>, result: WindowResult): Promise<readonly unknown[]> {
    const { prepared, ledger, inFlightRecords, budget, now } = this.#deps;
    const seen = await ledger.seen(prepared.source.name, [...candidates.keys()], now());
    const room = budget.take(candidates.size - seen.size);
    result.unchanged += seen.size;
    result.leftOut += candidates.size - seen.size - room;
    const fresh: unknown[] = [];
    for (const [hash, record] of candidates) {
      if (seen.has(hash) || fresh.length === room) {
        inFlightRecords.release([hash]);
        continue;
      }
      fresh.push(record);
      result.fingerprints.push(hash);
    }
    return fresh;
  }

  /** False: the source has moved. */
  async #emit(result: WindowResult): Promise<boolean> {
    if (result.isAcknowledged || result.contribution.isEmpty) return true;
    const { ledger, emitter, prepared } = this.#deps;
    const { name } = prepared.source;
    const { id } = this.#window;
    if (!(await ledger.exporting(name, id, this.#fence))) return false;
    await emitter.emit([result.contribution], this.#signal);
    result.isAcknowledged = true;
    return ledger.exported(name, id, this.#fence);
  }

  /** False: the source has moved. */
  #commit({ fingerprints }: WindowResult): Promise<boolean> {
    const { prepared, ledger, now } = this.#deps;
    const { fingerprintTtlMs: ttlMs, maxFingerprints: maxEntries } = prepared;
    const commit = { now: now(), fingerprints, ttlMs, maxEntries };
    return ledger.commit(prepared.source.name, this.#window.id, commit, this.#fence);
  }
}

/**
 * What the collector refuses, it would refuse again; with other records it may not. But what it has counted must not be
 * counted again.
 */
const isWorthKeeping = (error: unknown, { isAcknowledged, contribution }: WindowResult): boolean =>
  (error instanceof ExportFailure && (error.retryable || contribution.isCounted)) ||
  (error instanceof StateUnavailable && isAcknowledged);

/** When the points of a window are; undefined: when they are exported, as those of the present always are. */
function timeOf({ start, end }: LedgerWindow, { isRange, source }: PreparedSource): TimeSpan | undefined {
  if (!isRange || source.pointTime === 'scrape') return undefined;
  return { start: BigInt(start.getTime()) * 1_000_000n, end: BigInt(end.getTime()) * 1_000_000n };
}
