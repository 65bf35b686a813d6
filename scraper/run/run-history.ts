import type { RunOutcome, RunRecord, RunTrigger } from '../status.ts';

const RUNS_KEPT = 20;
const ERRORS_KEPT = 5;

/** A run while it goes on: the numbers grow. */
export class RunRecorder implements RunRecord {
  readonly trigger: RunTrigger;
  readonly started: Date;
  ended: Date | undefined;
  status: RunOutcome = 'running';
  windows = 0;
  failed = 0;
  records = 0;
  unchanged = 0;
  readonly errors: string[] = [];

  constructor(trigger: RunTrigger, started: Date) {
    this.trigger = trigger;
    this.started = started;
  }

  note(error: string): void {
    this.errors.push(error);
    if (this.errors.length > ERRORS_KEPT) this.errors.shift();
  }

  end(status: RunOutcome, ended: Date): void {
    this.status = status;
    this.ended = ended;
  }
}

/** The last runs of one source. */
export class RunHistory {
  readonly #runs: RunRecorder[] = [];

  begin(trigger: RunTrigger, now: Date): RunRecorder {
    const run = new RunRecorder(trigger, now);
    this.#runs.unshift(run);
    if (this.#runs.length > RUNS_KEPT) this.#runs.pop();
    return run;
  }

  /** As if it had never begun. */
  remove(run: RunRecorder): void {
    const place = this.#runs.indexOf(run);
    if (place >= 0) this.#runs.splice(place, 1);
  }

  /** Newest first. */
  all(): readonly RunRecord[] {
    return this.#runs;
  }

  get last(): RunRecord | undefined {
    return this.#runs[0];
  }

  get lastEnded(): RunRecord | undefined {
    return this.#runs.find(({ ended }) => ended !== undefined);
  }
}
