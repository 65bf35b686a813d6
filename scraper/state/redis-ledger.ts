import type { RedisReply, RedisScript } from '../../lib/redis/redis-script.ts';
import { parseLastSuccess } from './last-success-text.ts';
import { ERROR_CHARS } from './ledger.ts';
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
import type { RedisConnection } from './redis-connection.ts';
import type { RedisKeys } from './redis-keys.ts';
import * as scripts from './redis-ledger-scripts.ts';

/** Sources that one clean-up script looks at, so that others have their turn in between. */
const SOURCES_AT_ONCE = 50;

/** The ledger in Redis or Valkey, shared by pods. Each step is one script, which checks the fence before it writes. */
export class RedisLedger implements Ledger {
  readonly #connection: RedisConnection;
  readonly #keys: RedisKeys;

  /** The connection stays the caller's, who closes it. */
  constructor(connection: RedisConnection, keys: RedisKeys) {
    this.#connection = connection;
    this.#keys = keys;
  }

  async source(name: string): Promise<SourceState | undefined> {
    const [original] = this.#keys.original(name);
    const reply = await this.#connection.run(scripts.SOURCE, [...this.#keys.ledger(name), original]);
    const [planned, committed, paused, originalText, first, open, dead] = list(reply);
    const plannedUntil = timeOf(planned) ?? parseOriginal(originalText);
    const [openWindows, deadWindows] = [Number(open), Number(dead)];
    const isKnown = plannedUntil !== undefined || typeof paused === 'string' || typeof committed === 'string';
    if (!isKnown && openWindows + deadWindows === 0) return undefined;
    return {
      plannedUntil,
      watermark: timeOf(first) ?? plannedUntil,
      lastSuccess: timeOf(committed),
      paused: paused === '1',
      openWindows,
      deadWindows,
    };
  }

  async plan(
    name: string,
    from: Date | undefined,
    windows: readonly WindowRange[],
    plannedUntil: Date,
    fence: Fence,
  ): Promise<boolean> {
    const [original, index, fingerprint] = this.#keys.original(name);
    const keys = [...this.#keys.ledger(name), original, index, this.#keys.fingerprints(name)];
    const plan = (read: string): Promise<RedisReply> => {
      const values = [millis(from), millis(plannedUntil), read, fingerprint, rangesText(windows)];
      return this.#connection.run(scripts.PLAN, keys, [String(fence.token), ...values]);
    };
    const reply = await plan('');
    if (typeof reply !== 'string') return reply === 1;
    // A source that only the original has scraped continues where that has stopped.
    if (parseOriginal(reply)?.getTime() !== from?.getTime()) return false;
    return (await plan(reply)) === 1;
  }

  async due(name: string, now: Date, limit: number): Promise<LedgerWindow[]> {
    return windowsOf(await this.#run(scripts.DUE, name, [millis(now), limit]));
  }

  async begin(name: string, id: string, fence: Fence): Promise<number | undefined> {
    const before = Number(await this.#run(scripts.BEGIN, name, [String(fence.token), id]));
    return before < 0 ? undefined : before;
  }

  async letGo(name: string, id: string): Promise<void> {
    await this.#run(scripts.LET_GO, name, [id]);
  }

  exporting(name: string, id: string, fence: Fence): Promise<boolean> {
    return this.#step(scripts.EXPORTING, name, [String(fence.token), id]);
  }

  exported(name: string, id: string, fence: Fence): Promise<boolean> {
    return this.#step(scripts.EXPORTED, name, [String(fence.token), id]);
  }

  failed(name: string, id: string, failure: WindowFailure, fence: Fence): Promise<boolean> {
    const { nextAttemptAt, now, error, mayHaveArrived = false, isReplaced = false } = failure;
    const next = nextAttemptAt === 'dead' ? '' : millis(nextAttemptAt);
    const values = [String(fence.token), id, next, millis(now), mayHaveArrived ? '1' : '0'];
    return this.#step(scripts.FAILED, name, [...values, error.slice(0, ERROR_CHARS), isReplaced ? '1' : '0']);
  }

  async commit(name: string, id: string, commit: WindowCommit, fence: Fence): Promise<boolean> {
    const { now, fingerprints, ttlMs, maxEntries } = commit;
    const until = String(Math.ceil(now.getTime() + ttlMs));
    const values = [String(fence.token), id, millis(now), until, maxEntries, bytesOf(fingerprints)];
    const keys = [...this.#keys.ledger(name), this.#keys.fingerprints(name)];
    return (await this.#connection.run(scripts.COMMIT, keys, values)) === 1;
  }

  async backfill(name: string, windows: readonly WindowRange[]): Promise<number> {
    return Number(await this.#run(scripts.BACKFILL, name, [rangesText(windows)]));
  }

  async pause(name: string): Promise<void> {
    await this.#run(scripts.PAUSE, name, ['1']);
  }

  async resume(name: string): Promise<void> {
    await this.#run(scripts.PAUSE, name, ['0']);
  }

  async retryDead(
    name: string,
    now: Date,
    split: (range: WindowRange) => readonly WindowRange[] = (range) => [range],
  ): Promise<number> {
    let count = 0;
    for (const window of windowsOf(await this.#run(scripts.DEAD, name, []))) {
      const values = [window.id, millis(now), rangesText(split(window))];
      if (await this.#step(scripts.REOPEN, name, values)) count += 1;
    }
    return count;
  }

  async windows(name: string, page: { readonly offset: number; readonly limit: number }): Promise<LedgerWindow[]> {
    const all = windowsOf(await this.#connection.run(scripts.WINDOWS, [this.#keys.windows(name)]));
    return all.sort(latestFirst).slice(page.offset, page.offset + page.limit);
  }

  async seen(name: string, hashes: readonly string[], now: Date): Promise<ReadonlySet<string>> {
    if (hashes.length === 0) return new Set();
    const known = await this.#connection.run(
      scripts.SEEN,
      [this.#keys.fingerprints(name)],
      [millis(now), bytesOf(hashes)],
    );
    const digits = String(known);
    return new Set(hashes.filter((_hash, index) => digits[index] === '1'));
  }

  /** Of the known sources only: whose others are, nobody can say, and their keys expire by themselves. */
  async cleanUp(now: Date, knownSources: readonly string[]): Promise<{ fingerprints: number; windows: number }> {
    let fingerprints = 0;
    for (let index = 0; index < knownSources.length; index += SOURCES_AT_ONCE) {
      const keys = knownSources.slice(index, index + SOURCES_AT_ONCE).map((name) => this.#keys.fingerprints(name));
      fingerprints += Number(await this.#connection.run(scripts.DROP_EXPIRED, keys, [millis(now)]));
    }
    return { fingerprints, windows: 0 };
  }

  async close(): Promise<void> {
    // The connection is not ours.
  }

  #run(script: RedisScript, name: string, values: readonly (string | number)[]): Promise<RedisReply> {
    return this.#connection.run(script, this.#keys.ledger(name), values);
  }

  async #step(script: RedisScript, name: string, values: readonly (string | number)[]): Promise<boolean> {
    return (await this.#run(script, name, values)) === 1;
  }
}

const FINGERPRINT_BYTES = 32;

/** Half the size on the way and in memory. */
function bytesOf(fingerprints: readonly string[]): Buffer {
  const bytes = Buffer.from(fingerprints.join(''), 'hex');
  if (bytes.length !== fingerprints.length * FINGERPRINT_BYTES) throw new TypeError('fingerprints are SHA-256 in hex');
  return bytes;
}

const list = (reply: RedisReply): RedisReply[] => (Array.isArray(reply) ? reply : []);

const millis = (time: Date | undefined): string => (time === undefined ? '' : String(time.getTime()));

const timeOf = (value: RedisReply | undefined): Date | undefined =>
  typeof value === 'string' ? new Date(Number(value)) : undefined;

const parseOriginal = (value: RedisReply | undefined): Date | undefined =>
  typeof value === 'string' ? parseLastSuccess(value) : undefined;

const rangesText = (ranges: readonly WindowRange[]): string =>
  ranges.map(({ start, end }) => `${start.getTime()},${end.getTime()}`).join(' ');

const latestFirst = (a: LedgerWindow, b: LedgerWindow): number =>
  b.start.getTime() - a.start.getTime() || b.end.getTime() - a.end.getTime() || (a.kind > b.kind ? -1 : 1);

function windowsOf(reply: RedisReply): LedgerWindow[] {
  const parts = list(reply);
  const windows: LedgerWindow[] = [];
  for (let index = 0; index + 1 < parts.length; index += 2) {
    windows.push(asWindow(String(parts[index]), String(parts[index + 1])));
  }
  return windows;
}

function asWindow(id: string, text: string): LedgerWindow {
  const [kind, state, may, attempts, start, end, at, ...error] = text.split(' ');
  return {
    id,
    kind: kind as WindowKind,
    state: state as WindowState,
    start: new Date(Number(start)),
    end: new Date(Number(end)),
    attempts: Number(attempts),
    at: new Date(Number(at)),
    error: error.join(' ') || undefined,
    mayRepeat: may === '1' || state === 'exporting' || state === 'exported',
  };
}
