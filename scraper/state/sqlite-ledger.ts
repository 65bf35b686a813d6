import { setImmediate } from 'node:timers/promises';
import { parseLastSuccess, lastSuccessText } from './last-success-text.ts';
import { ERROR_CHARS, SOURCE_KEPT_MS, windowId } from './ledger.ts';
import type {
  Fence,
  Ledger,
  LedgerWindow,
  SourceState,
  WindowCommit,
  WindowFailure,
  WindowKind,
  WindowRange,
  WindowState,
} from './ledger.ts';
import { SqliteDatabase } from './sqlite-database.ts';
import type { SqliteSettings } from './sqlite-database.ts';
import { SqliteFingerprints } from './sqlite-fingerprints.ts';
import { prepareStatements, type SqliteStatements } from './sqlite-statements.ts';
import type { Row } from './sqlite-statements.ts';

/** The only owner there is: one process has the file. */
const TOKEN = 0n;

/** The ledger in a file, for one process. */
export class SqliteLedger implements Ledger {
  readonly #database: SqliteDatabase;
  readonly #sql: SqliteStatements;
  readonly #fingerprints: SqliteFingerprints;

  constructor(settings: SqliteSettings) {
    this.#database = new SqliteDatabase(settings);
    this.#sql = prepareStatements(this.#database.connection);
    this.#fingerprints = new SqliteFingerprints(this.#database.connection);
  }

  source(name: string): Promise<SourceState | undefined> {
    return this.#database.read(() => this.#source(name));
  }

  plan(
    name: string,
    from: Date | undefined,
    windows: readonly WindowRange[],
    plannedUntil: Date,
    fence: Fence,
  ): Promise<boolean> {
    return this.#fenced(fence, () => {
      if (this.#plannedUntil(name)?.getTime() !== from?.getTime()) return false;
      this.#sql.setPlanned.run(name, plannedUntil.getTime());
      for (const range of windows) this.#open(name, 'scheduled', range, range.start.getTime());
      this.#noteWatermark(name);
      return true;
    });
  }

  due(name: string, now: Date, limit: number): Promise<LedgerWindow[]> {
    return this.#database.read(() => this.#sql.due.all(name, now.getTime(), limit).map(asWindow));
  }

  begin(name: string, id: string, fence: Fence): Promise<number | undefined> {
    if (fence.token !== TOKEN) return Promise.resolve(undefined);
    return this.#database.write(() => Number(this.#sql.begin.get(name, id)?.['times']) - 1);
  }

  async letGo(name: string, id: string): Promise<void> {
    await this.#database.write(() => this.#sql.letGo.run(name, id));
  }

  exporting(name: string, id: string, fence: Fence): Promise<boolean> {
    return this.#fenced(fence, () => this.#sql.exporting.run(name, id).changes === 1);
  }

  exported(name: string, id: string, fence: Fence): Promise<boolean> {
    return this.#fenced(fence, () => this.#sql.exported.run(name, id).changes === 1);
  }

  failed(name: string, id: string, failure: WindowFailure, fence: Fence): Promise<boolean> {
    const { nextAttemptAt, now, mayHaveArrived = false, isReplaced = false } = failure;
    const isDead = nextAttemptAt === 'dead';
    const at = isDead ? now : nextAttemptAt;
    const error = failure.error.slice(0, ERROR_CHARS);
    return this.#fenced(fence, () => {
      const state = isDead ? 'dead' : 'open';
      const { changes } = this.#sql.fail.run(state, at.getTime(), error, mayHaveArrived ? 1 : 0, name, id);
      if (!isReplaced) this.#sql.ended.run(name, id);
      if (changes === 1 && isDead) this.#joinDead(name, id);
      return changes === 1;
    });
  }

  commit(name: string, id: string, commit: WindowCommit, fence: Fence): Promise<boolean> {
    return this.#fenced(fence, () => {
      const now = commit.now.getTime();
      if (this.#sql.commit.run(now, name, id).changes !== 1) return false;
      this.#sql.ended.run(name, id);
      this.#sql.setLastCommit.run(name, now);
      this.#fingerprints.add(name, commit);
      this.#sql.trimCommitted.run(name);
      this.#noteWatermark(name);
      return true;
    });
  }

  backfill(name: string, windows: readonly WindowRange[], now: Date): Promise<number> {
    return this.#database.write(() => {
      this.#sql.touch.run(name, now.getTime());
      return windows.filter((range) => this.#open(name, 'backfill', range, range.start.getTime())).length;
    });
  }

  async pause(name: string): Promise<void> {
    await this.#database.write(() => this.#sql.setPaused.run(name, 1));
  }

  async resume(name: string): Promise<void> {
    await this.#database.write(() => this.#sql.setPaused.run(name, 0));
  }

  retryDead(
    name: string,
    now: Date,
    split: (range: WindowRange) => readonly WindowRange[] = (range) => [range],
  ): Promise<number> {
    return this.#database.write(() => {
      let count = 0;
      for (const window of this.#sql.dead.all(name).map(asWindow)) {
        const ranges = split(window);
        const start = ranges.at(-1)?.end;
        if (start === undefined) continue;
        count += 1;
        this.#sql.remove.run(name, window.id);
        for (const range of ranges) this.#open(name, window.kind, range, now.getTime(), window.mayRepeat);
        const rest = { start, end: window.end };
        const other = this.#sql.window.get(name, windowId(window.kind, rest))?.['state'] ?? 'committed';
        if (start < window.end && other === 'committed') this.#setAside(name, window, rest);
      }
      return count;
    });
  }

  windows(name: string, page: { readonly offset: number; readonly limit: number }): Promise<LedgerWindow[]> {
    return this.#database.read(() => this.#sql.page.all(name, page.limit, page.offset).map(asWindow));
  }

  seen(name: string, hashes: readonly string[], now: Date): Promise<ReadonlySet<string>> {
    return this.#database.read(() => this.#fingerprints.seen(name, hashes, now));
  }

  async cleanUp(now: Date, knownSources: readonly string[]): Promise<{ fingerprints: number; windows: number }> {
    let fingerprints = 0;
    // Also of sources that are not known any more: what has expired means nothing to anybody. All of them at once would
    // hold everything up.
    for (const source of await this.#database.read(() => this.#fingerprints.sources())) {
      fingerprints += await this.#database.write(() => this.#fingerprints.dropExpired(source, now));
      await setImmediate();
    }
    const windows = await this.#database.write(() => {
      const known = JSON.stringify(knownSources);
      const unused = this.#sql.unused.all(now.getTime() - SOURCE_KEPT_MS, known);
      return unused.reduce((total, { name }) => {
        this.#sql.forgetSource.run(String(name));
        this.#sql.forgetBegun.run(String(name));
        return total + Number(this.#sql.forgetWindows.run(String(name)).changes);
      }, 0);
    });
    return { fingerprints, windows };
  }

  async close(): Promise<void> {
    this.#database.close();
  }

  async #fenced(fence: Fence, work: () => boolean): Promise<boolean> {
    return fence.token === TOKEN && (await this.#database.write(work));
  }

  #source(name: string): SourceState | undefined {
    const row = this.#sql.source.get(name);
    const plannedUntil = this.#plannedUntil(name, row);
    if (row === undefined && plannedUntil === undefined) return undefined;
    const counts = this.#sql.counts.get(name);
    return {
      plannedUntil,
      watermark: timeOf(this.#sql.firstUncommitted.get(name)?.['start_at']) ?? plannedUntil,
      lastSuccess: timeOf(row?.['last_commit_at']),
      paused: row?.['paused'] === 1,
      openWindows: Number(counts?.['open']),
      deadWindows: Number(counts?.['dead']),
    };
  }

  /** A source that only the original has scraped continues where that has stopped. */
  #plannedUntil(name: string, row: Row | undefined = this.#sql.source.get(name)): Date | undefined {
    const planned = timeOf(row?.['planned_until']);
    if (planned !== undefined) return planned;
    const text = this.#sql.lastSuccess.get(name)?.['timestamp'];
    return typeof text === 'string' ? parseLastSuccess(text) : undefined;
  }

  /** The original's time of the last success, so that it could take over again without a gap. */
  #noteWatermark(name: string): void {
    const watermark = this.#source(name)?.watermark;
    if (watermark !== undefined) this.#sql.setLastSuccess.run(name, lastSuccessText(watermark));
  }

  /** False when such a window is open or dead already; one that is committed is opened anew. */
  #open(name: string, kind: WindowKind, range: WindowRange, at: number, mayRepeat = false): boolean {
    const [start, end] = [range.start.getTime(), range.end.getTime()];
    const { changes } = this.#sql.open.run(name, windowId(kind, range), kind, start, end, at, mayRepeat ? 1 : 0);
    return changes === 1;
  }

  /** Dead windows that touch become one, and only the last dead moments are kept. */
  #joinDead(name: string, id: string): void {
    const window = this.#sql.window.get(name, id);
    if (window === undefined) return;
    const { kind = null, start_at: start = null, end_at: end = null } = window;
    if (start === end) {
      this.#sql.trimDeadMoments.run(name);
      return;
    }
    const neighbours = this.#sql.deadNeighbours.all(name, kind, start, end);
    if (neighbours.length === 0) return;
    const all = [...neighbours, window];
    const range = {
      start: new Date(Math.min(...all.map((row) => Number(row['start_at'])))),
      end: new Date(Math.max(...all.map((row) => Number(row['end_at'])))),
    };
    for (const row of all) this.#sql.remove.run(name, row['id'] ?? null);
    const mayRepeat = all.some((row) => row['may_repeat'] === 1);
    this.#setAside(name, { ...asWindow(window), mayRepeat }, range);
  }

  /** A dead window like another one, of another range. */
  #setAside(name: string, { kind, at, attempts, error, mayRepeat }: LedgerWindow, range: WindowRange): void {
    this.#open(name, kind, range, at.getTime(), mayRepeat);
    this.#sql.setDead.run(attempts, error ?? null, name, windowId(kind, range));
  }
}

const timeOf = (value: unknown): Date | undefined => (typeof value === 'number' ? new Date(value) : undefined);

function asWindow(row: Row): LedgerWindow {
  const state = String(row['state']) as WindowState;
  return {
    id: String(row['id']),
    kind: String(row['kind']) as WindowKind,
    state,
    start: new Date(Number(row['start_at'])),
    end: new Date(Number(row['end_at'])),
    attempts: Number(row['attempts']),
    at: new Date(Number(row['at'])),
    error: typeof row['error'] === 'string' ? row['error'] : undefined,
    mayRepeat: row['may_repeat'] === 1 || state === 'exporting' || state === 'exported',
  };
}
