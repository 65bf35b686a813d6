import type { Source } from '../crds/config/scraper-file/scraper.ts';
import type { PreparedSource } from './prepared-source.ts';
import { type Schedule, scheduleOf } from './schedule.ts';
import type { Scheduler } from './scheduler.ts';
import type { SourceRunner } from './source-runner.ts';
import type { RunTrigger, SourceStatus } from './status.ts';

export interface Timing {
  readonly scheduler: Scheduler;
  readonly now: () => Date;
  readonly random: () => number;
}

/** One source of the configuration: when it runs, and what runs it. */
export class SourceEntry {
  readonly name: string;
  readonly #timing: Timing;
  #source: Source;
  #schedule: Schedule;
  /** Undefined: nothing can be made of its configuration. */
  prepared: PreparedSource | undefined;
  unusable: string | undefined;
  runner: SourceRunner | undefined;
  isOwner = false;

  constructor(source: Source, timing: Timing) {
    this.name = source.name;
    this.#source = source;
    this.#timing = timing;
    this.#schedule = scheduleOf(source, timing.now());
  }

  get source(): Source {
    return this.#source;
  }

  /** Milliseconds between two scrapes. */
  period(now: Date): number {
    return this.#schedule.period(now);
  }

  /** Takes a changed configuration. Its times stay unless these have changed. */
  replace(source: Source): void {
    this.#source = source;
    const schedule = scheduleOf(source, this.#timing.now());
    if (schedule.id === this.#schedule.id) return;
    this.#schedule = schedule;
    if (this.isOwner) this.#armNext(this.#timing.now());
  }

  /** Its times are counted from what is now. */
  clockSetBack(): void {
    const now = this.#timing.now();
    this.#schedule = scheduleOf(this.#source, now);
    if (this.isOwner) this.#armNext(now);
  }

  /** From now on it may run here. */
  take(): void {
    this.isOwner = true;
    this.runner?.open();
  }

  /** Runs it at once, and then at its times. */
  begin(): void {
    this.take();
    const { now, random } = this.#timing;
    const time = now();
    this.#arm('first', time, time.getTime() + this.#schedule.delay(random()));
  }

  /** At the latest; an earlier time that was asked for before stays. */
  wakeAt(at: Date): void {
    const known = this.#timing.scheduler.at(this.#retryKey);
    if (known !== undefined && known <= at.getTime()) return;
    this.#timing.scheduler.set(this.#retryKey, at.getTime(), () => this.#run('retry'));
  }

  /** No more times. */
  end(): void {
    this.isOwner = false;
    this.#timing.scheduler.delete(this.#tickKey);
    this.#timing.scheduler.delete(this.#retryKey);
  }

  status(): SourceStatus {
    const { runner } = this;
    const state = runner?.state;
    const last = runner?.runs.last;
    // How it is now, only its owner knows.
    const own = this.isOwner ? state : undefined;
    const times = [this.#tickKey, this.#retryKey].flatMap((key) => this.#timing.scheduler.at(key) ?? []);
    return {
      name: this.name,
      owner: this.isOwner,
      running: runner?.isRunning ?? false,
      paused: state?.paused ?? false,
      lastRun: last?.started,
      lastSuccess: state?.lastSuccess,
      watermark: this.#source.scrape.type === 'range' ? state?.watermark : undefined,
      openWindows: own?.openWindows ?? 0,
      deadWindows: own?.deadWindows ?? 0,
      records: runner?.runs.lastEnded?.records,
      lastError: this.unusable ?? (this.isOwner ? runner?.lastError : undefined),
      nextRun: times.length === 0 ? undefined : new Date(Math.min(...times)),
      unusable: this.unusable,
    };
  }

  get #tickKey(): string {
    return `tick ${this.name}`;
  }

  get #retryKey(): string {
    return `retry ${this.name}`;
  }

  #arm(trigger: RunTrigger, tick: Date, at: number): void {
    this.#timing.scheduler.set(this.#tickKey, at, () => {
      const now = this.#timing.now();
      // Ticks that were missed, as by a machine that slept, are one.
      this.#armNext(tick > now ? tick : now);
      this.#run(trigger);
    });
  }

  #armNext(after: Date): void {
    const tick = this.#schedule.next(after);
    if (tick === undefined) return;
    this.#arm('schedule', tick, tick.getTime() + this.#schedule.delay(this.#timing.random()));
  }

  #run(trigger: RunTrigger): void {
    // Never rejects.
    void this.runner?.run(trigger);
  }
}
