import type { Source } from '../../crds/config/scraper-file/scraper.ts';
import { InvalidSetting } from '../records/invalid-setting.ts';
import { MAX_DATE, Run } from '../run/run.ts';
import type { RunDeps } from '../run/run-deps.ts';
import { RunHistory } from '../run/run-history.ts';
import { SourceMemory } from '../run/source-memory.ts';
import { type Fence, type Ledger, type SourceState, StateUnavailable } from '../state/ledger.ts';
import type { RunTrigger, SourceStatus, TriggerResult } from '../status.ts';
import { backoff } from '../times/backoff.ts';
import { type PreparedSource, prepareSource, type SourceContext } from '../window/prepared-source.ts';
import { SourceTimer, type Timing } from './source-timer.ts';

export interface SourceDeps extends Omit<RunDeps, 'ledger' | 'fence' | 'period'>, Timing {
  /** Proof that a source is this pod's; undefined: it is not. */
  readonly fenceOf: (name: string) => Fence | undefined;
  readonly contextOf: (warn: (message: string) => void) => SourceContext;
  /** Of all sources. */
  readonly allowOverlap: boolean;
}

/** What there is from the first time on that a source was this pod's. */
interface Owned {
  readonly memory: SourceMemory;
  readonly deps: RunDeps;
}

/** Windows that are looked at to find out when the next one is due. */
const WAITING_SEEN = 20;
/** How often leases are renewed. */
const LEASE_RETRY_MS = 3_000;
const STATE_RETRY = { initialMs: 500, maxMs: 10_000 };
const MAX_REASON_CHARS = 300;

/** One source of the configuration: its schedule, its state and its runs, which do not overlap unless they may. */
export class ScrapedSource {
  readonly name: string;
  readonly runs = new RunHistory();
  readonly #deps: SourceDeps;
  readonly #timer: SourceTimer;
  readonly #active = new Set<Promise<TriggerResult>>();
  #source: Source;
  /** Undefined: nothing can be made of its configuration. */
  #prepared: PreparedSource | undefined;
  #unusable: string | undefined;
  #owned: Owned | undefined;
  #isOwner = false;
  /** Runs may begin. */
  #isOpen = false;
  #wakeAgain = false;
  #stateFailures = 0;
  #error: string | undefined;
  /** Of a window that waits for another attempt. */
  #waitingError: string | undefined;
  #abort = new AbortController();

  constructor(source: Source, deps: SourceDeps) {
    this.name = source.name;
    this.#source = source;
    this.#deps = deps;
    // A run never rejects.
    this.#timer = new SourceTimer(source, deps, (trigger) => void this.run(trigger));
    this.#prepare();
  }

  get source(): Source {
    return this.#source;
  }

  get prepared(): PreparedSource | undefined {
    return this.#prepared;
  }

  /** Why it cannot run. */
  get unusable(): string | undefined {
    return this.#unusable;
  }

  get isOwner(): boolean {
    return this.#isOwner;
  }

  /** What is known from the last look at the ledger. */
  get state(): SourceState | undefined {
    return this.#owned?.memory.state;
  }

  /** Why the last run has failed, windows wait for another attempt, or time is left out. */
  get lastError(): string | undefined {
    return this.#error ?? this.#owned?.memory.aheadError;
  }

  get isRunning(): boolean {
    return this.#active.size > 0;
  }

  /** Takes a changed configuration; windows under way end with the one that they began with. */
  replace(source: Source): void {
    const { emitter, retryBuffer } = this.#deps;
    if (readingsOf(this.#source) !== readingsOf(source)) {
      emitter.forget(this.name);
      retryBuffer.forgetSums(this.name);
    }
    this.#source = source;
    this.#timer.replace(source);
    this.#prepare();
    if (this.#prepared === undefined || this.#owned === undefined) return;
    this.#owned.memory.reconfigure(this.#prepared);
    retryBuffer.forget(this.name);
  }

  /** Its times are counted from what is now. */
  clockSetBack(): void {
    this.#timer.clockSetBack();
  }

  /** From now on it may run here; false: nothing can be made of its configuration. */
  take(ledger: Ledger): boolean {
    if (this.#prepared === undefined) return false;
    this.#owned ??= { memory: new SourceMemory(this.#prepared), deps: this.#runDeps(ledger) };
    this.#isOwner = true;
    this.#isOpen = true;
    this.#timer.enable();
    if (this.#abort.signal.aborted) this.#abort = new AbortController();
    return true;
  }

  /** Runs it at once, and then at its times. */
  begin(ledger: Ledger): void {
    if (this.take(ledger)) this.#timer.begin();
  }

  /** At the latest; an earlier time that was asked for before stays. */
  wakeAt(at: Date): void {
    this.#timer.wakeAt(at);
  }

  /** It is another pod's. */
  end(): void {
    this.#isOwner = false;
    this.#timer.end();
  }

  /** Looks at the ledger between two runs. @throws StateUnavailable */
  async look(): Promise<void> {
    if (this.#owned === undefined) return;
    const { memory, deps } = this.#owned;
    memory.state = await deps.ledger.source(this.name);
  }

  /** Begins nothing new, and gives windows that run so many milliseconds; those that are left stay uncommitted. */
  async close(graceMs: number): Promise<void> {
    if (this.#owned === undefined) return;
    const { retryBuffer } = this.#deps;
    this.#isOpen = false;
    const giveUp = (): void => this.#abort.abort(new Error('the scraper is stopping'));
    if (graceMs <= 0) giveUp();
    const timer = setTimeout(giveUp, graceMs);
    await Promise.all(this.#active);
    clearTimeout(timer);
    retryBuffer.forget(this.name);
    retryBuffer.forgetSums(this.name);
    this.#owned.memory.collectorFailures.clear();
  }

  /** Resolves when the run has ended. Never rejects. */
  async run(trigger: RunTrigger): Promise<TriggerResult> {
    if (!this.#isOpen || this.#owned === undefined) return 'elsewhere';
    const { memory, deps } = this.#owned;
    if (deps.fence() === undefined) return this.#withoutProof(trigger, memory);
    if (this.isRunning && !(this.#mayOverlap(memory) && trigger !== 'retry')) {
      if (trigger === 'retry') this.#wakeAgain = true;
      if (trigger === 'schedule') this.#skipped(memory);
      return 'running';
    }
    const work = this.#run(trigger, this.#owned);
    this.#active.add(work);
    return work.finally(() => this.#active.delete(work));
  }

  status(): SourceStatus {
    const { state } = this;
    // How it is now, only its owner knows.
    const own = this.#isOwner ? state : undefined;
    return {
      name: this.name,
      owner: this.#isOwner,
      running: this.isRunning,
      paused: state?.paused ?? false,
      lastRun: this.runs.last?.started,
      lastSuccess: state?.lastSuccess,
      watermark: this.#source.scrape.type === 'range' ? state?.watermark : undefined,
      openWindows: own?.openWindows ?? 0,
      deadWindows: own?.deadWindows ?? 0,
      records: this.runs.lastEnded?.records,
      lastError: this.#unusable ?? (this.#isOwner ? this.lastError : undefined),
      nextRun: this.#timer.nextRun,
      unusable: this.#unusable,
    };
  }

  #runDeps(ledger: Ledger): RunDeps {
    return {
      ...this.#deps,
      ledger,
      fence: () => this.#deps.fenceOf(this.name),
      period: (now) => this.#timer.period(now),
    };
  }

  #prepare(): void {
    const { logger, contextOf } = this.#deps;
    try {
      this.#prepared = prepareSource(
        this.#source,
        contextOf((message) => logger.warn({ source: this.name }, message)),
      );
      this.#unusable = undefined;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#prepared = undefined;
      this.#unusable = reason.slice(0, MAX_REASON_CHARS);
      const fault = error instanceof InvalidSetting ? {} : { err: error };
      logger.error({ source: this.name, problem: this.#unusable, ...fault }, 'source disabled: invalid configuration');
    }
  }

  #mayOverlap({ prepared }: SourceMemory): boolean {
    return this.#deps.allowOverlap || prepared.source.allowOverlapScans;
  }

  /** A lease that could not be renewed in time: while nobody has taken the source, it may come back. */
  #withoutProof(trigger: RunTrigger, memory: SourceMemory): TriggerResult {
    const { now } = this.#deps;
    if (trigger === 'schedule' || trigger === 'first') memory.isPlanDue = true;
    if (trigger !== 'admin' && trigger !== 'once') this.#timer.wakeAt(new Date(now().getTime() + LEASE_RETRY_MS));
    return 'elsewhere';
  }

  /** Nothing is lost: the next run plans as far as its own time. */
  #skipped(memory: SourceMemory): void {
    if (memory.isBackfilling) {
      memory.isPlanDue = true;
      return;
    }
    this.#deps.observer.skipped(this.name);
    this.#deps.logger.warn({ source: this.name }, 'skipped: previous run still in progress');
  }

  async #run(trigger: RunTrigger, { memory, deps }: Owned): Promise<TriggerResult> {
    const { now, observer, logger } = this.#deps;
    const { prepared } = memory;
    const record = this.runs.begin(trigger, now());
    const run = new Run(memory, deps, record, this.#abort.signal, () => this.#isOpen);
    let result: TriggerResult;
    try {
      result = await run.go();
      await this.#lookAhead(run.isFull, memory, deps);
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
    logger.debug({ source: this.name, trigger, result, windows, failed, records, unchanged, took_ms }, 'run');
    return result;
  }

  /** Looks up when the next window is due that waits for another attempt; after a full run, the others wait for a tick. */
  async #lookAhead(isFull: boolean, memory: SourceMemory, { ledger, now }: RunDeps): Promise<void> {
    const { inFlight } = memory;
    this.#stateFailures = 0;
    memory.state = await ledger.source(this.name);
    if (!this.#isOpen || memory.state === undefined || memory.state.paused) return;
    const { openWindows } = memory.state;
    const waiting = openWindows === 0 ? [] : await ledger.due(this.name, MAX_DATE, inFlight.size + WAITING_SEEN);
    const times = waiting
      .filter(({ id, attempts }) => !inFlight.has(id) && !(isFull && attempts === 0))
      .map(({ at }) => at.getTime());
    this.#waitingError = waiting.find(({ error }) => error !== undefined)?.error;
    if (this.#wakeAgain) times.push(now().getTime());
    this.#wakeAgain = false;
    if (times.length > 0) this.#timer.wakeAt(new Date(Math.min(...times)));
  }

  #broken(error: unknown): void {
    const { now, random, logger, observer } = this.#deps;
    this.#stateFailures += 1;
    const wait = backoff(this.#stateFailures, STATE_RETRY.initialMs, STATE_RETRY.maxMs, 0.5 + random() / 2);
    if (this.#isOpen) this.#timer.wakeAt(new Date(now().getTime() + wait));
    if (error instanceof StateUnavailable) {
      observer.stateFailed();
      logger.warn({ source: this.name, error: error.message, retry_ms: wait }, 'run failed: state store unavailable');
    } else {
      logger.error({ source: this.name, err: error }, 'run failed');
    }
  }
}

/** What decides which metrics there are. */
const readingsOf = (source: Source): string =>
  JSON.stringify([
    source.gaugeReadings,
    source.counterReadings,
    source.histogramReadings,
    source.attributes,
    source.pointTime,
  ]);
