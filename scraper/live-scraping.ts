import { setTimeout as delay } from 'node:timers/promises';
import type { ScraperConfig } from '../crds/config/scraper-file/scraper.ts';
import type { LoadedConfig } from './config-file.ts';
import { type PreparedSource, prepareSource } from './prepared-source.ts';
import type { LiveScrapingParts } from './live-scraping-parts.ts';
import { InvalidSetting } from './records/invalid-setting.ts';
import { split } from './requests/windows.ts';
import type { Scraping } from './scraping.ts';
import { SourceEntry } from './source-entry.ts';
import { SourceRunner } from './source-runner.ts';
import { type LedgerWindow, type WindowRange } from './state/ledger.ts';
import { Refused, type RunRecord, type SourceStatus, type TriggerResult } from './status.ts';

/** Most windows that are opened at a time: by a backfill, or by another try of what was set aside. */
const MAX_WINDOWS = 10_000;
const CLOSE_MS = 5_000;
const MAX_REASON_CHARS = 300;

export class LiveScraping implements Scraping {
  readonly #parts: LiveScrapingParts;
  /** In the order of the configuration. */
  #entries = new Map<string, SourceEntry>();
  /** No longer configured, but with windows under way. */
  readonly #leaving = new Map<string, SourceEntry>();
  #stopping: Promise<void> | undefined;

  constructor(parts: LiveScrapingParts) {
    this.#parts = parts;
    this.#take(parts.config);
    parts.scheduler.onSetBack(() => {
      parts.logger.warn('the clock was set back: all schedules are counted from now');
      for (const entry of this.#entries.values()) entry.clockSetBack();
    });
  }

  start(): Promise<void> {
    void this.#open((entry) => entry.begin());
    return Promise.resolve();
  }

  /** Runs every source of this pod once, all at the same time, and not again; resolves when the last has ended. */
  async runOnce(signal: AbortSignal): Promise<ReadonlyMap<string, TriggerResult>> {
    const { promise: aborted, resolve } = Promise.withResolvers<void>();
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
    await Promise.race([this.#open((entry) => entry.take()), aborted]);
    this.#parts.scheduler.stop();
    const results = [...this.#entries.values()].map(
      async ({ name, unusable, runner }): Promise<[string, TriggerResult]> => [
        name,
        unusable === undefined ? ((await runner?.run('once')) ?? 'elsewhere') : 'unusable',
      ],
    );
    return new Map(await Promise.all(results));
  }

  ready(): ReturnType<Scraping['ready']> {
    return this.#parts.state.notReady();
  }

  replace({ config }: LoadedConfig): void {
    this.#take(config);
    this.#parts.state.refresh();
  }

  sources(): readonly SourceStatus[] {
    return [...this.#entries.values()].map((entry) => entry.status());
  }

  runs(name: string): readonly RunRecord[] {
    return this.#entries.get(name)?.runner?.runs.all() ?? [];
  }

  async windows(name: string, page: { readonly offset: number; readonly limit: number }): Promise<LedgerWindow[]> {
    return this.#parts.state.ledger.windows(this.#entry(name).name, page);
  }

  async trigger(name: string): Promise<TriggerResult> {
    const entry = this.#entry(name);
    if (entry.unusable !== undefined) return 'unusable';
    // Raises StateUnavailable where there is none.
    void this.#parts.state.ledger;
    return entry.runner === undefined ? 'elsewhere' : entry.runner.run('admin');
  }

  async backfill(name: string, range: WindowRange): Promise<number> {
    const { now, state } = this.#parts;
    const entry = this.#entry(name);
    const { prepared } = entry;
    if (prepared === undefined) throw new Refused(`${name} cannot run: ${entry.unusable ?? ''}`);
    if (!prepared.hasTimes) throw new Refused(`${name} does not ask for a time: it has no startKey and endKey`);
    if (!(range.start < range.end)) throw new Refused('start must be before end');
    if (range.end > now()) throw new Refused('end must not lie in the future');
    const size = prepared.windowSize;
    const windows = split({ from: range.start, to: range.end, size, limit: MAX_WINDOWS + 1 });
    if (windows.length > MAX_WINDOWS) throw new Refused(`more than ${MAX_WINDOWS} windows; give a shorter range`);
    const added = await state.ledger.backfill(name, windows, now());
    this.#wake(entry);
    return added;
  }

  async pause(name: string): Promise<void> {
    const entry = this.#entry(name);
    await this.#parts.state.ledger.pause(name);
    await entry.runner?.look();
  }

  async resume(name: string): Promise<void> {
    const entry = this.#entry(name);
    await this.#parts.state.ledger.resume(name);
    await entry.runner?.look();
    if (entry.isOwner) void entry.runner?.run('admin');
  }

  async retryDead(name: string): Promise<{ readonly windows: number; readonly left: number }> {
    const entry = this.#entry(name);
    const size = entry.prepared?.windowSize ?? null;
    const { now, state } = this.#parts;
    let room = MAX_WINDOWS;
    const windows = await state.ledger.retryDead(name, now(), (range) => {
      const ranges = parts(range, size, room);
      room -= ranges.length;
      return ranges;
    });
    this.#wake(entry);
    const left = (await state.ledger.source(name))?.deadWindows ?? 0;
    return { windows, left };
  }

  pods(): { readonly self: string; readonly live: readonly string[] } {
    return { self: this.#parts.pod, live: this.#parts.state.pods() };
  }

  secrets(): readonly string[] {
    return this.#parts.secrets();
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    const { state, scheduler, upkeep, emitter, close } = this.#parts;
    await state.stopOpening();
    scheduler.stop();
    const runners = [...this.#entries.values(), ...this.#leaving.values()].flatMap(({ runner }) => runner ?? []);
    await Promise.all(runners.map((runner) => runner.close(this.#graceMs)));
    await upkeep.stop();
    // What nobody waits for any more may still be on its way to a collector that does not answer.
    await Promise.race([emitter.close(), delay(CLOSE_MS, undefined, { ref: false })]);
    await state.close();
    await close();
  }

  get #graceMs(): number {
    const { terminateGracefully, shutdownGrace } = this.#parts.config.scraper;
    return terminateGracefully ? shutdownGrace : 0;
  }

  #entry(name: string): SourceEntry {
    const entry = this.#entries.get(name);
    if (entry === undefined) throw new Refused(`there is no source ${JSON.stringify(name)}`);
    return entry;
  }

  #wake(entry: SourceEntry): void {
    if (entry.isOwner) entry.wakeAt(this.#parts.now());
  }

  #take(config: ScraperConfig): void {
    const { emitter, kept, onConfig } = this.#parts;
    onConfig(config);
    const before = this.#entries;
    this.#entries = new Map();
    for (const source of config.sources) {
      const known = before.get(source.name) ?? this.#stillHere(source.name);
      before.delete(source.name);
      const entry = known ?? new SourceEntry(source, this.#parts);
      this.#entries.set(source.name, entry);
      if (known !== undefined) {
        if (JSON.stringify(known.source) === JSON.stringify(source)) continue;
        if (readingsOf(known.source) !== readingsOf(source)) {
          emitter.forget(source.name);
          kept.forgetSums(source.name);
        }
        known.replace(source);
      }
      this.#prepare(entry);
      if (entry.prepared !== undefined) entry.runner?.reconfigure(entry.prepared);
    }
    for (const [name, entry] of before) if (entry.isOwner) this.#leaving.set(name, entry);
  }

  /** The entry of a source that has gone and come back before it could be given away. */
  #stillHere(name: string): SourceEntry | undefined {
    const entry = this.#leaving.get(name);
    if (entry?.isOwner !== true) return undefined;
    this.#leaving.delete(name);
    return entry;
  }

  #prepare(entry: SourceEntry): void {
    const { logger, contextOf } = this.#parts;
    const { name } = entry;
    try {
      const warn = (message: string): void => logger.warn({ source: name }, message);
      entry.prepared = prepareSource(entry.source, contextOf(warn));
      entry.unusable = undefined;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      entry.prepared = undefined;
      entry.unusable = reason.slice(0, MAX_REASON_CHARS);
      const fault = error instanceof InvalidSetting ? {} : { err: error };
      logger.error({ source: name, problem: entry.unusable, ...fault }, 'this source cannot run; the others do');
    }
  }

  #open(begin: (entry: SourceEntry) => void): Promise<void> {
    const { state, upkeep } = this.#parts;
    return state.open({
      sources: () => [...this.#entries.values()].flatMap(({ name, prepared }) => (prepared === undefined ? [] : name)),
      gained: (name) => {
        const entry = this.#entries.get(name);
        if (entry?.prepared === undefined || this.#stopping !== undefined) return;
        entry.runner ??= this.#runnerOf(entry, entry.prepared);
        begin(entry);
      },
      asked: (name) => {
        const entry = this.#entries.get(name);
        // The end of a pause is a run, so that what was missed is planned.
        if (entry?.runner?.state?.paused === true) void entry.runner.run('admin');
        else if (entry !== undefined) this.#wake(entry);
      },
      lost: (name) => this.#lost(name),
      opened: (ledger) => upkeep.start(ledger),
    });
  }

  #runnerOf(entry: SourceEntry, prepared: PreparedSource): SourceRunner {
    const { state, config } = this.#parts;
    return new SourceRunner(prepared, {
      ...this.#parts,
      ledger: state.ledger,
      fence: () => state.fence(entry.name),
      period: (now) => entry.period(now),
      wakeAt: (at) => entry.wakeAt(at),
      allowOverlap: config.scraper.allowOverlapScans,
    });
  }

  async #lost(name: string): Promise<void> {
    const entry = this.#leaving.get(name) ?? this.#entries.get(name);
    if (entry === undefined) return;
    entry.end();
    await entry.runner?.close(this.#graceMs);
    // Its sums go on where it runs now; here they would stand still.
    this.#parts.emitter.forget(name);
    if (this.#leaving.get(name) === entry) this.#leaving.delete(name);
  }
}

const parts = ({ start, end }: WindowRange, size: number | null, limit: number): readonly WindowRange[] =>
  start < end ? split({ from: start, to: end, size, limit }) : [{ start, end }];

/** What decides which metrics there are. */
const readingsOf = (source: SourceEntry['source']): string =>
  JSON.stringify([
    source.gaugeReadings,
    source.counterReadings,
    source.histogramReadings,
    source.attributes,
    source.pointTime,
  ]);
