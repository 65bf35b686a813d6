import type { AdminScraper } from '../admin-routes.ts';
import type { LedgerWindow } from '../../state/ledger.ts';
import type { RunRecord, SourceStatus, TriggerResult } from '../../status.ts';

const NEVER: Omit<SourceStatus, 'name'> = {
  owner: true,
  running: false,
  paused: false,
  lastRun: undefined,
  lastSuccess: undefined,
  watermark: undefined,
  openWindows: 0,
  deadWindows: 0,
  records: undefined,
  lastError: undefined,
  nextRun: undefined,
  unusable: undefined,
};

export const statusOf = (name: string, fields: Partial<SourceStatus> = {}): SourceStatus => ({
  name,
  ...NEVER,
  ...fields,
});

export const run: RunRecord = {
  trigger: 'admin',
  started: new Date(1000),
  ended: new Date(2000),
  status: 'success',
  windows: 1,
  failed: 0,
  records: 3,
  unchanged: 2,
  errors: [],
};

export const windowAt = (index: number): LedgerWindow => ({
  id: `scheduled:${index}`,
  kind: 'scheduled',
  state: 'committed',
  start: new Date(index * 1000),
  end: new Date((index + 1) * 1000),
  attempts: 0,
  at: new Date(9000),
  error: undefined,
  mayRepeat: false,
});

/** Answers what it is told to, and remembers what it was asked to do. */
export class ScraperDouble implements AdminScraper {
  readonly asked: unknown[][] = [];
  statuses: SourceStatus[] = [];
  result: TriggerResult = 'done';
  history: RunRecord[] = [run];
  ledger: LedgerWindow[] = [];
  live: string[] = ['pod-a'];
  /** Thrown by whatever needs the state. */
  failure: Error | undefined;

  start = async (): Promise<void> => undefined;
  stop = async (): Promise<void> => undefined;
  ready = (): undefined => undefined;
  replace = (): void => undefined;
  secrets = (): string[] => [];
  sources = (): SourceStatus[] => this.statuses;
  runs = (): RunRecord[] => this.history;
  pods = (): { self: string; live: string[] } => ({ self: 'pod-a', live: this.live });

  async windows(name: string, { offset, limit }: { offset: number; limit: number }): Promise<LedgerWindow[]> {
    this.#note('windows', name, offset, limit);
    return this.ledger.slice(offset, offset + limit);
  }
  async trigger(name: string): Promise<TriggerResult> {
    this.#note('trigger', name);
    return this.result;
  }
  async backfill(name: string, { start, end }: { start: Date; end: Date }): Promise<number> {
    this.#note('backfill', name, start.toISOString(), end.toISOString());
    return 24;
  }
  async pause(name: string): Promise<void> {
    this.#note('pause', name);
  }
  async resume(name: string): Promise<void> {
    this.#note('resume', name);
  }
  async retryDead(name: string): Promise<{ windows: number; left: number }> {
    this.#note('retryDead', name);
    return { windows: 2, left: 1 };
  }

  #note(...call: unknown[]): void {
    this.asked.push(call);
    if (this.failure !== undefined) throw this.failure;
  }
}
