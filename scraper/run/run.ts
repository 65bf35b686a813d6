import { nextAttempt } from '../times/backoff.ts';
import { BegunWindow } from '../window/begun-window.ts';
import { BudgetExceeded, RecordBudget } from '../window/record-budget.ts';
import { type Plan, planOf } from './plan.ts';
import { outOfReach } from '../requests/windows.ts';
import type { RunDeps } from './run-deps.ts';
import type { RunRecorder } from './run-history.ts';
import { Window } from '../window/window.ts';
import type { SourceMemory } from './source-memory.ts';
import { type Fence, type LedgerWindow, StateUnavailable } from '../state/ledger.ts';
import type { TriggerResult } from '../status.ts';
import { reportOf } from '../window/window-failure.ts';

/** Later than every window. */
export const MAX_DATE = new Date(8.64e15);
/** Moments that are looked at for those that a later one supersedes. */
const MOMENTS_SEEN = 100;
/** Clocks of pods may differ as much. */
const CLOCKS_DIFFER_MS = 10_000;
/** How often what is known of a source is looked up while it runs. */
const REFRESH_MS = 1000;

/** One run of a source: it plans what has passed since the last one, and scrapes all windows that are due. */
export class Run {
  readonly #memory: SourceMemory;
  readonly #deps: RunDeps;
  readonly #record: RunRecorder;
  #budget: RecordBudget;
  readonly #signal: AbortSignal;
  readonly #mayBegin: () => boolean;
  readonly #own = new Set<Promise<void>>();
  /** Why the run ends early: the source is another pod's, or paused. */
  #stopped: TriggerResult | undefined;
  #stateFailure: StateUnavailable | undefined;
  #isFull = false;
  /** There is more to plan than was planned at a time. */
  #isMore = false;

  /**
   * @param signal gives windows up, which stay uncommitted
   * @param mayBegin whether further windows may begin
   */
  constructor(memory: SourceMemory, deps: RunDeps, record: RunRecorder, signal: AbortSignal, mayBegin: () => boolean) {
    this.#memory = memory;
    this.#deps = deps;
    this.#record = record;
    this.#signal = signal;
    this.#mayBegin = mayBegin;
    // What one run could not plan, the next one does, whatever it was begun for.
    if (record.trigger !== 'retry') memory.isPlanDue = true;
    this.#budget = this.#newBudget();
  }

  /** @throws StateUnavailable */
  async go(): Promise<TriggerResult> {
    try {
      do {
        await this.#refresh();
        if (this.#memory.isPlanDue || this.#isMore) await this.#plan();
        await this.#drain();
      } while (this.#isMore && this.#goesOn);
    } finally {
      await Promise.all(this.#own);
    }
    if (this.#stateFailure !== undefined) throw this.#stateFailure;
    return this.#stopped ?? (this.#record.failed > 0 ? 'failed' : 'done');
  }

  /** It has ended early, because all records have been emitted that one scrape may emit. */
  get isFull(): boolean {
    return this.#isFull;
  }

  get #name(): string {
    return this.#memory.prepared.source.name;
  }

  get #goesOn(): boolean {
    return this.#stopped === undefined && this.#stateFailure === undefined && !this.#isFull && this.#mayBegin();
  }

  async #refresh(): Promise<void> {
    const { ledger, now } = this.#deps;
    this.#memory.stateReadAt = now().getTime();
    this.#memory.state = await ledger.source(this.#name);
    if (this.#memory.state?.paused === true) this.#stopped ??= 'paused';
  }

  #newBudget(): RecordBudget {
    return new RecordBudget(this.#memory.prepared.source.filters.limits.maxRecordsPerScrape);
  }

  async #plan(): Promise<void> {
    if (!this.#goesOn) return;
    const { prepared, state } = this.#memory;
    const { ledger, now, period, fence: fenceNow } = this.#deps;
    const time = now();
    const plan = planOf(prepared, state, time, period(time));
    this.#checkClock(time);
    const fence = fenceNow();
    if (fence === undefined) {
      this.#stopped = 'elsewhere';
      return;
    }
    // When it is not taken, another run has been faster, or the fence is old; windows show which.
    const taken =
      plan && (await ledger.plan(this.#name, plan.from, plan.windows, plan.until, fence)) ? plan : undefined;
    this.#memory.isPlanDue = false;
    this.#isMore = taken?.more ?? false;
    if (taken !== undefined) this.#logPlan(taken);
  }

  /** Whoever has planned that far had another clock, and asked for what the API did not have yet. */
  #checkClock(now: Date): void {
    const { prepared, state, aheadError } = this.#memory;
    const until = state?.plannedUntil;
    const isAhead = prepared.isRange && until !== undefined && until.getTime() - now.getTime() > CLOCKS_DIFFER_MS;
    const error = `everything until ${until?.toISOString()} counts as scraped, because the clock was ahead`;
    this.#memory.aheadError = isAhead ? `${error}; a backfill asks for it again` : undefined;
    if (isAhead && aheadError === undefined) this.#deps.logger.warn({ source: this.#name }, error);
  }

  #logPlan(plan: Plan): void {
    const { logger, observer } = this.#deps;
    if (plan.gated) {
      this.#record.status = 'gated';
      logger.info({ source: this.#name }, 'first run: nothing scraped, only the start time stored (runFirstScrape)');
    }
    if (plan.skipped !== undefined) {
      const { start, end } = plan.skipped;
      observer.notCaughtUp(this.#name, end.getTime() - start.getTime());
      logger.warn({ source: this.#name, start, end }, 'skipped: time range older than maxCatchUp');
    }
  }

  /** Scrapes what is due until nothing is, so many windows at a time. */
  async #drain(): Promise<void> {
    for (;;) {
      for (const window of await this.#next()) {
        this.#memory.inFlight.set(window.id, window.kind);
        const work = this.#scrape(window).finally(() => {
          this.#memory.inFlight.delete(window.id);
          this.#own.delete(work);
        });
        this.#own.add(work);
      }
      if (this.#own.size === 0) return;
      await Promise.race(this.#own);
      if (this.#deps.now().getTime() - this.#memory.stateReadAt >= REFRESH_MS) await this.#refresh();
      if (this.#memory.isPlanDue && this.#goesOn) {
        await this.#refresh();
        this.#budget = this.#newBudget();
        await this.#plan();
      }
    }
  }

  /** The windows to begin with now. */
  async #next(): Promise<LedgerWindow[]> {
    const { prepared, inFlight } = this.#memory;
    // One after the other where they share a limit, so that each window has what is left of it.
    const most = prepared.source.filters.limits.maxRecordsPerScrape === null ? prepared.maxBegun : 1;
    const room = (): number => most - inFlight.size;
    if (!this.#goesOn || room() <= 0) return [];
    if (!prepared.isRange) return this.#latestMoment();
    // The answer may be older than the commit of a window that was in flight when it was asked for.
    const before = new Set(inFlight.keys());
    const due = await this.#deps.ledger.due(this.#name, this.#deps.now(), before.size + room());
    return due.filter(({ id }) => !before.has(id) && !inFlight.has(id)).slice(0, Math.max(0, room()));
  }

  /** Nobody can ask for how things were: of moments only the latest is scraped, the others become dead-letter windows. */
  async #latestMoment(): Promise<LedgerWindow[]> {
    const { ledger, now, fence: fenceNow, logger } = this.#deps;
    const { inFlight } = this.#memory;
    const before = new Set(inFlight.keys());
    const open = await ledger.due(this.#name, MAX_DATE, MOMENTS_SEEN);
    const idle = open.filter(({ id }) => !before.has(id) && !inFlight.has(id));
    const latest = idle.reduce<LedgerWindow | undefined>(
      (last, window) => (last === undefined || window.start > last.start ? window : last),
      undefined,
    );
    for (const window of idle) {
      const fence = fenceNow();
      if (window === latest || fence === undefined) continue;
      const why = window.error === undefined ? '' : `; before that: ${window.error}`;
      const error = `a later moment has taken its place${why}`;
      await ledger.failed(this.#name, window.id, { error, nextAttemptAt: 'dead', now: now(), isReplaced: true }, fence);
      this.#forget(window);
      logger.debug(
        { source: this.#name, window: window.id },
        'window moved to dead letters: superseded by a later one',
      );
    }
    // A moment is planned a little ahead when the clock stands still or goes backwards.
    const isDue = latest !== undefined && (latest.at <= now() || latest.attempts === 0);
    return isDue ? [latest] : [];
  }

  /** Never rejects. */
  async #scrape(window: LedgerWindow): Promise<void> {
    const { prepared, fetching, inFlightRecords } = this.#memory;
    const { fence: fenceNow, fetchOf, ledger, emitter, retryBuffer, memory, suspects, now, observer } = this.#deps;
    const fence = fenceNow();
    if (fence === undefined) return this.#moved(window);
    const fetch = fetchOf(prepared);
    const { isRange } = prepared;
    const begun = new BegunWindow(window, { source: this.#name, isRange, ledger, suspects, begun: this.#memory.begun });
    const deps = {
      prepared,
      fetch,
      ledger,
      emitter,
      fetching,
      inFlightRecords,
      retryBuffer,
      memory,
      begun,
      budget: this.#budget,
      now,
    };
    try {
      const result = await new Window(window, deps, fence, this.#signal).scrape();
      if (result === undefined) {
        await letGo(begun);
        return this.#moved(window);
      }
      begun.ended();
      this.#memory.collectorFailures.delete(window.id);
      this.#record.windows += 1;
      this.#record.records += result.records;
      this.#record.unchanged += result.unchanged;
      if (result.mayRepeat) observer.repeated(this.#name, result.records);
      if (result.leftOut > 0) this.#leftOut(window, result.leftOut);
      this.#logOutOfReach(window, result.asked);
    } catch (error) {
      // What is given up, or has no room, stays as it is, and is due again.
      if (this.#signal.aborted) return letGo(begun);
      if (error instanceof BudgetExceeded) {
        this.#isFull = true;
        return letGo(begun);
      }
      if (await this.#failed(window, error, fence)) begun.ended();
      else begun.giveBack();
    }
  }

  #leftOut({ id }: LedgerWindow, records: number): void {
    const { logger, observer } = this.#deps;
    observer.leftOut(this.#name, records);
    logger.warn({ source: this.#name, window: id, records }, 'records dropped: maxRecordsPerScrape reached');
  }

  #logOutOfReach(window: LedgerWindow, asked: Date): void {
    const { logger, observer, period } = this.#deps;
    const { start } = window;
    const missed = outOfReach(this.#memory.prepared.source.scrape, window, asked, period(asked));
    if (missed === 0) return;
    const end = new Date(start.getTime() + missed);
    observer.notCaughtUp(this.#name, missed);
    logger.warn({ source: this.#name, start, end }, 'skipped: time range older than rangeKeys.value reaches back');
  }

  #moved(window: LedgerWindow): void {
    this.#stopped = 'elsewhere';
    this.#deps.logger.info(
      { source: this.#name, window: window.id },
      'window skipped: the source belongs to another pod',
    );
  }

  /** Whether it has been written down. */
  async #failed(window: LedgerWindow, error: unknown, fence: Fence): Promise<boolean> {
    const { ledger, retryBuffer, now, random, observer, logger } = this.#deps;
    const { prepared, collectorFailures } = this.#memory;
    // Nothing can be written down now; the window stays as it is.
    if (error instanceof StateUnavailable) {
      this.#stateFailure = error;
      return false;
    }
    const report = reportOf(error);
    const { isCollectors, retryAfterMs, message, kind, status } = report;
    const { id, start, end, attempts } = window;
    const mayHaveArrived = report.mayHaveArrived || retryBuffer.isCounted(this.#name, id);
    const byCollector = (collectorFailures.get(id) ?? 0) + (isCollectors ? 1 : 0);
    const failure = { attempts: attempts + 1 - byCollector, inTotal: attempts + 1, isCollectors, retryAfterMs };
    const next = report.isFinal ? 'dead' : nextAttempt(failure, prepared.source.scrape.retry, now(), random());
    this.#record.failed += 1;
    this.#record.note(`${kind}: ${message}`);
    observer.failed(this.#name, report, next === 'dead');
    logger[next === 'dead' ? 'error' : 'warn'](
      {
        source: this.#name,
        window: { id, start, end },
        kind,
        status,
        attempt: attempts + 1,
        next_attempt: next,
        error: message,
        ...(kind === 'internal' ? { err: error } : {}),
      },
      'window failed',
    );
    collectorFailures.set(id, byCollector);
    if (next === 'dead') this.#forget(window);
    try {
      const written = { error: `${kind}: ${message}`, nextAttemptAt: next, now: now(), mayHaveArrived };
      const isWritten = await ledger.failed(this.#name, id, written, fence);
      if (!isWritten) this.#moved(window);
      return isWritten;
    } catch (error) {
      if (!(error instanceof StateUnavailable)) throw error;
      this.#stateFailure = error;
      return false;
    }
  }

  #forget({ id }: LedgerWindow): void {
    this.#memory.collectorFailures.delete(id);
    this.#deps.retryBuffer.drop(this.#name, id);
  }
}

/** Where the ledger cannot be asked now, what it knows stays: one crash too many is counted, and told. */
async function letGo(begun: BegunWindow): Promise<void> {
  await begun.letGo().catch((error: unknown) => {
    if (!(error instanceof StateUnavailable)) throw error;
  });
}
