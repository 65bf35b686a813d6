import { backoff } from './backoff.ts';
import type { PreparedSource } from './prepared-source.ts';
import type { RunParts } from './run-parts.ts';
import { Runs } from './runs.ts';
import { SourceMemory } from './source-memory.ts';
import { FAR, SourceRun } from './source-run.ts';
import { type SourceState, StateUnavailable } from './state/ledger.ts';
import type { RunTrigger, TriggerResult } from './status.ts';

export interface RunnerParts extends RunParts {
  /** Asks for a run with the trigger `retry` at this time at the latest. */
  readonly wakeAt: (at: Date) => void;
  /** Of all sources. */
  readonly allowOverlap: boolean;
}

/** Windows that are looked at to find out when the next one is due. */
const WAITING_SEEN = 20;
/** How often leases are renewed. */
const LEASE_RETRY_MS = 3_000;
const STATE_RETRY = { initialMs: 500, maxMs: 10_000 };

/** The runs of one source, which do not overlap unless they may. */
export class SourceRunner {
  readonly runs = new Runs();
  readonly #parts: RunnerParts;
  readonly #memory: SourceMemory;
  readonly #active = new Set<Promise<TriggerResult>>();
  #isOpen = false;
  #wakeAgain = false;
  #stateFailures = 0;
  #error: string | undefined;
  /** Of a window that waits for another attempt. */
  #waitingError: string | undefined;
  #abort = new AbortController();

  constructor(prepared: PreparedSource, parts: RunnerParts) {
    this.#memory = new SourceMemory(prepared);
    this.#parts = parts;
  }

  /** Takes a changed configuration; windows under way end with the one that they began with. */
  reconfigure(prepared: PreparedSource): void {
    this.#memory.reconfigure(prepared);
    this.#parts.kept.forget(this.#name);
  }

  /** What is known from the last look at the ledger. */
  get state(): SourceState | undefined {
    return this.#memory.state;
  }

  /** Why the last run has failed, windows wait for another attempt, or time is left out. */
  get lastError(): string | undefined {
    return this.#error ?? this.#memory.aheadError;
  }

  get isRunning(): boolean {
    return this.#active.size > 0;
  }

  /** From now on it may run. */
  open(): void {
    this.#isOpen = true;
    if (this.#abort.signal.aborted) this.#abort = new AbortController();
  }

  /** Looks at the ledger between two runs. @throws StateUnavailable */
  async look(): Promise<void> {
    this.#memory.state = await this.#parts.ledger.source(this.#name);
  }

  /** Begins nothing new, and gives windows that run so many milliseconds; those that are left stay uncommitted. */
  async close(graceMs: number): Promise<void> {
    this.#isOpen = false;
    const giveUp = (): void => this.#abort.abort(new Error('the scraper is stopping'));
    if (graceMs <= 0) giveUp();
    const timer = setTimeout(giveUp, graceMs);
    await Promise.all(this.#active);
    clearTimeout(timer);
    this.#parts.kept.forget(this.#name);
    this.#parts.kept.forgetSums(this.#name);
    this.#memory.collectorFailures.clear();
  }

  /** Resolves when the run has ended. Never rejects. */
  async run(trigger: RunTrigger): Promise<TriggerResult> {
    if (!this.#isOpen) return 'elsewhere';
    if (this.#parts.fence() === undefined) return this.#withoutProof(trigger);
    if (this.isRunning && !(this.#mayOverlap && trigger !== 'retry')) {
      if (trigger === 'retry') this.#wakeAgain = true;
      if (trigger === 'schedule') this.#skipped();
      return 'running';
    }
    const work = this.#run(trigger);
    this.#active.add(work);
    return work.finally(() => this.#active.delete(work));
  }

  get #name(): string {
    return this.#memory.prepared.source.name;
  }

  get #mayOverlap(): boolean {
    return this.#parts.allowOverlap || this.#memory.prepared.source.allowOverlapScans;
  }

  /** A lease that could not be renewed in time: while nobody has taken the source, it may come back. */
  #withoutProof(trigger: RunTrigger): TriggerResult {
    const { now, wakeAt } = this.#parts;
    if (trigger === 'schedule' || trigger === 'first') this.#memory.isPlanDue = true;
    if (trigger !== 'admin' && trigger !== 'once') wakeAt(new Date(now().getTime() + LEASE_RETRY_MS));
    return 'elsewhere';
  }

  /** Nothing is lost: the next run plans as far as its own time. */
  #skipped(): void {
    if (this.#memory.isBackfilling) {
      this.#memory.isPlanDue = true;
      return;
    }
    this.#parts.observer.skipped(this.#name);
    this.#parts.logger.warn({ source: this.#name }, 'the last run still goes on; this one is left out');
  }

  async #run(trigger: RunTrigger): Promise<TriggerResult> {
    const { now, observer, logger } = this.#parts;
    const { prepared } = this.#memory;
    const record = this.runs.begin(trigger, now());
    const run = new SourceRun(this.#memory, this.#parts, record, this.#abort.signal, () => this.#isOpen);
    let result: TriggerResult;
    try {
      result = await run.go();
      await this.#lookAhead(run.isFull);
    } catch (error) {
      result = 'failed';
      this.#broken(error);
      record.note(error instanceof Error ? error.message : String(error));
    }
    // Woken for nothing, or not allowed to do anything: that was no run.
    const isIdle = record.windows === 0 && record.failed === 0;
    if (isIdle && (result === 'paused' || (trigger === 'retry' && result === 'done'))) {
      this.runs.remove(record);
      this.#error = this.#waitingError;
      return result;
    }
    record.end(result === 'failed' ? 'error' : record.status === 'gated' ? 'gated' : 'success', now());
    this.#error = result === 'failed' ? record.errors.at(-1) : this.#waitingError;
    observer.ran(prepared, record);
    const { windows, failed, records, unchanged } = record;
    const took_ms = now().getTime() - record.started.getTime();
    logger.debug({ source: this.#name, trigger, result, windows, failed, records, unchanged, took_ms }, 'run');
    return result;
  }

  /** Looks up when the next window is due that waits for another attempt; after a full run, the others wait for a tick. */
  async #lookAhead(isFull: boolean): Promise<void> {
    const { ledger, now, wakeAt } = this.#parts;
    const { inFlight } = this.#memory;
    this.#stateFailures = 0;
    this.#memory.state = await ledger.source(this.#name);
    if (!this.#isOpen || this.#memory.state === undefined || this.#memory.state.paused) return;
    const { openWindows } = this.#memory.state;
    const waiting = openWindows === 0 ? [] : await ledger.due(this.#name, FAR, inFlight.size + WAITING_SEEN);
    const times = waiting
      .filter(({ id, attempts }) => !inFlight.has(id) && !(isFull && attempts === 0))
      .map(({ at }) => at.getTime());
    this.#waitingError = waiting.find(({ error }) => error !== undefined)?.error;
    if (this.#wakeAgain) times.push(now().getTime());
    this.#wakeAgain = false;
    if (times.length > 0) wakeAt(new Date(Math.min(...times)));
  }

  #broken(error: unknown): void {
    const { now, random, wakeAt, logger, observer } = this.#parts;
    this.#stateFailures += 1;
    const wait = backoff(this.#stateFailures, STATE_RETRY.initialMs, STATE_RETRY.maxMs, 0.5 + random() / 2);
    if (this.#isOpen) wakeAt(new Date(now().getTime() + wait));
    if (error instanceof StateUnavailable) {
      observer.stateFailed();
      logger.warn({ source: this.#name, error: error.message, retry_ms: wait }, 'run failed: the state is unavailable');
    } else {
      logger.error({ source: this.#name, err: error }, 'run failed');
    }
  }
}
