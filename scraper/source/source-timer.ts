import type { Source } from '../../crds/config/scraper-file/scraper.ts';
import type { RunTrigger } from '../status.ts';
import { type Schedule, scheduleOf } from '../times/next-run-time.ts';
import type { Scheduler } from './scheduler.ts';

export interface Timing {
  readonly scheduler: Pick<Scheduler, 'set' | 'at' | 'delete'>;
  readonly now: () => Date;
  readonly random: () => number;
}

/** When a source runs: at the times of its schedule, and at those that are asked for in between. */
export class SourceTimer {
  readonly #timing: Timing;
  readonly #run: (trigger: RunTrigger) => void;
  readonly #tickKey: string;
  readonly #retryKey: string;
  #source: Source;
  #schedule: Schedule;
  #isOn = false;
  /** The run at the start has still to come. */
  #isFirstDue = false;

  constructor(source: Source, timing: Timing, run: (trigger: RunTrigger) => void) {
    this.#source = source;
    this.#timing = timing;
    this.#run = run;
    this.#tickKey = `tick ${source.name}`;
    this.#retryKey = `retry ${source.name}`;
    this.#schedule = scheduleOf(source, timing.now());
  }

  /** Milliseconds between two scrapes. */
  period(now: Date): number {
    return this.#schedule.period(now);
  }

  get nextRun(): Date | undefined {
    const times = [this.#tickKey, this.#retryKey].flatMap((key) => this.#timing.scheduler.at(key) ?? []);
    return times.length === 0 ? undefined : new Date(Math.min(...times));
  }

  /** Takes a changed configuration. Its times stay unless these have changed; the run at the start comes all the same. */
  replace(source: Source): void {
    this.#source = source;
    const schedule = scheduleOf(source, this.#timing.now());
    if (schedule.id === this.#schedule.id) return;
    this.#schedule = schedule;
    if (this.#isOn && !this.#isFirstDue) this.#armNext(this.#timing.now());
  }

  /** Its times are counted from what is now. */
  clockSetBack(): void {
    const now = this.#timing.now();
    this.#schedule = scheduleOf(this.#source, now);
    if (this.#isOn) this.#armNext(now);
  }

  /** Heeds changes of the schedule from now on. */
  enable(): void {
    this.#isOn = true;
  }

  /** A run at once, and then at its times. */
  begin(): void {
    this.enable();
    const { now, random } = this.#timing;
    const time = now();
    this.#isFirstDue = true;
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
    this.#isOn = false;
    this.#isFirstDue = false;
    this.#timing.scheduler.delete(this.#tickKey);
    this.#timing.scheduler.delete(this.#retryKey);
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
    this.#isFirstDue = false;
    const tick = this.#schedule.next(after);
    if (tick === undefined) return this.#timing.scheduler.delete(this.#tickKey);
    this.#arm('schedule', tick, tick.getTime() + this.#schedule.delay(this.#timing.random()));
  }
}
