import { setTimeout as delay } from 'node:timers/promises';
import type { ScraperConfig } from '../crds/config/scraper-file/scraper.ts';
import type { LoadedConfig } from './config-file.ts';
import type { ScraperDeps } from './scraper-deps.ts';
import { split } from './requests/windows.ts';
import { ScrapedSource, type SourceDeps } from './source/scraped-source.ts';
import type { Ledger, LedgerWindow, WindowRange } from './state/ledger.ts';
import { Refused, type RunRecord, type SourceStatus, type TriggerResult } from './status.ts';

/** Most windows that are opened at a time: by a backfill, or by a retry of dead-letter windows. */
const MAX_WINDOWS = 10_000;
const CLOSE_MS = 5_000;

/** Everything that is scraped: the sources of the configuration, and what is asked of them. */
export class Scraper {
  readonly #deps: ScraperDeps;
  readonly #sourceDeps: SourceDeps;
  /** In the order of the configuration. */
  #sources = new Map<string, ScrapedSource>();
  /** No longer configured, but with windows under way. */
  readonly #leaving = new Map<string, ScrapedSource>();
  #stopping: Promise<void> | undefined;

  constructor(deps: ScraperDeps) {
    this.#deps = deps;
    this.#sourceDeps = {
      ...deps,
      fenceOf: (name) => deps.state.fence(name),
      allowOverlap: deps.config.scraper.allowOverlapScans,
    };
    this.#take(deps.config);
    deps.scheduler.onSetBack(() => {
      deps.logger.warn('system clock moved backwards: schedules restarted from now');
      for (const source of this.#sources.values()) source.clockSetBack();
    });
  }

  /** Resolves at once; state that cannot be used now is tried again in the background, and `ready` says so. */
  start(): Promise<void> {
    void this.#open((source, ledger) => source.begin(ledger));
    return Promise.resolve();
  }

  /** Runs every source of this pod once, all at the same time, and not again; resolves when the last has ended. */
  async runOnce(signal: AbortSignal): Promise<ReadonlyMap<string, TriggerResult>> {
    const { promise: aborted, resolve } = Promise.withResolvers<void>();
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
    await Promise.race([this.#open((source, ledger) => void source.take(ledger)), aborted]);
    this.#deps.scheduler.stop();
    const results = [...this.#sources.values()].map(async (source): Promise<[string, TriggerResult]> => [
      source.name,
      source.unusable === undefined ? await source.run('once') : 'unusable',
    ]);
    return new Map(await Promise.all(results));
  }

  /** Why it cannot scrape now; undefined when it can. */
  ready(): 'starting' | 'state_store_unavailable' | undefined {
    return this.#deps.state.notReady();
  }

  /** Takes a new configuration. Its section `scraper` stays as it was at the start. */
  replace({ config }: LoadedConfig): void {
    this.#take(config);
    this.#deps.state.refresh();
  }

  /** All sources, in the order of the configuration. */
  sources(): readonly SourceStatus[] {
    return [...this.#sources.values()].map((source) => source.status());
  }

  /** Newest first, at most 20; empty for an unknown source. */
  runs(name: string): readonly RunRecord[] {
    return this.#sources.get(name)?.runs.all() ?? [];
  }

  /** Latest first. @throws StateUnavailable */
  async windows(name: string, page: { readonly offset: number; readonly limit: number }): Promise<LedgerWindow[]> {
    return this.#deps.state.ledger.windows(this.#find(name).name, page);
  }

  /** Runs a source now and waits for its end; only on the pod that owns it. @throws Refused: no such source */
  async trigger(name: string): Promise<TriggerResult> {
    const source = this.#find(name);
    if (source.unusable !== undefined) return 'unusable';
    // Raises StateUnavailable where there is none.
    void this.#deps.state.ledger;
    return source.run('admin');
  }

  /**
   * Adds windows of the past. Returns how many were not open already.
   * @throws Refused when the source has no times, or for another reason that the message gives
   * @throws StateUnavailable
   */
  async backfill(name: string, range: WindowRange): Promise<number> {
    const { now, state } = this.#deps;
    const source = this.#find(name);
    const { prepared } = source;
    if (prepared === undefined) throw new Refused(`${name} cannot run: ${source.unusable ?? ''}`);
    if (!prepared.hasTimes) throw new Refused(`${name} does not ask for a time: it has no startKey and endKey`);
    if (!(range.start < range.end)) throw new Refused('start must be before end');
    if (range.end > now()) throw new Refused('end must not lie in the future');
    const size = prepared.windowSize;
    const windows = split({ from: range.start, to: range.end, size, limit: MAX_WINDOWS + 1 });
    if (windows.length > MAX_WINDOWS) throw new Refused(`more than ${MAX_WINDOWS} windows; give a shorter range`);
    const added = await state.ledger.backfill(name, windows, now());
    this.#wake(source);
    return added;
  }

  /** On any pod; the owner heeds it within seconds, or at once when it is this pod. @throws StateUnavailable */
  async pause(name: string): Promise<void> {
    const source = this.#find(name);
    await this.#deps.state.ledger.pause(name);
    await source.look();
  }

  async resume(name: string): Promise<void> {
    const source = this.#find(name);
    await this.#deps.state.ledger.resume(name);
    await source.look();
    if (source.isOwner) void source.run('admin');
  }

  /**
   * Opens dead-letter windows again, not more than a backfill may have. Returns their number, and how many are left.
   * @throws StateUnavailable
   */
  async retryDead(name: string): Promise<{ readonly windows: number; readonly left: number }> {
    const source = this.#find(name);
    const size = source.prepared?.windowSize ?? null;
    const { now, state } = this.#deps;
    let room = MAX_WINDOWS;
    const windows = await state.ledger.retryDead(name, now(), (range) => {
      const ranges = parts(range, size, room);
      room -= ranges.length;
      return ranges;
    });
    this.#wake(source);
    const left = (await state.ledger.source(name))?.deadWindows ?? 0;
    return { windows, left };
  }

  /** This pod and all that are alive; none while the state is not open yet. */
  pods(): { readonly self: string; readonly live: readonly string[] } {
    return { self: this.#deps.pod, live: this.#deps.state.pods() };
  }

  /** What must not appear in any output: of the configuration in use, of earlier ones, and tokens. */
  secrets(): readonly string[] {
    return this.#deps.secrets();
  }

  /** Drains, and closes everything in the reverse order of opening. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    const { state, scheduler, maintenance, emitter, close } = this.#deps;
    await state.stopOpening();
    scheduler.stop();
    const all = [...this.#sources.values(), ...this.#leaving.values()];
    await Promise.all(all.map((source) => source.close(this.#graceMs)));
    await maintenance.stop();
    // What nobody waits for any more may still be on its way to a collector that does not answer.
    await Promise.race([emitter.close(), delay(CLOSE_MS, undefined, { ref: false })]);
    await state.close();
    await close();
  }

  get #graceMs(): number {
    const { terminateGracefully, shutdownGrace } = this.#deps.config.scraper;
    return terminateGracefully ? shutdownGrace : 0;
  }

  #find(name: string): ScrapedSource {
    const source = this.#sources.get(name);
    if (source === undefined) throw new Refused(`there is no source ${JSON.stringify(name)}`);
    return source;
  }

  #wake(source: ScrapedSource): void {
    if (source.isOwner) source.wakeAt(this.#deps.now());
  }

  #take(config: ScraperConfig): void {
    this.#deps.onConfig(config);
    const before = this.#sources;
    this.#sources = new Map();
    for (const source of config.sources) {
      const known = before.get(source.name) ?? this.#stillHere(source.name);
      before.delete(source.name);
      if (known !== undefined && JSON.stringify(known.source) !== JSON.stringify(source)) known.replace(source);
      this.#sources.set(source.name, known ?? new ScrapedSource(source, this.#sourceDeps));
    }
    for (const [name, source] of before) if (source.isOwner) this.#leaving.set(name, source);
  }

  /** A source that has gone and come back before it could be given away. */
  #stillHere(name: string): ScrapedSource | undefined {
    const source = this.#leaving.get(name);
    if (source?.isOwner !== true) return undefined;
    this.#leaving.delete(name);
    return source;
  }

  #open(begin: (source: ScrapedSource, ledger: Ledger) => void): Promise<void> {
    const { state, maintenance } = this.#deps;
    return state.open({
      sources: () => [...this.#sources.values()].flatMap(({ name, prepared }) => (prepared === undefined ? [] : name)),
      gained: (name) => {
        const source = this.#sources.get(name);
        if (source !== undefined && this.#stopping === undefined) begin(source, state.ledger);
      },
      asked: (name) => {
        const source = this.#sources.get(name);
        // The end of a pause is a run, so that what was missed is planned.
        if (source?.state?.paused === true) void source.run('admin');
        else if (source !== undefined) this.#wake(source);
      },
      lost: (name) => this.#lost(name),
      opened: (ledger) => maintenance.start(ledger),
    });
  }

  async #lost(name: string): Promise<void> {
    const source = this.#leaving.get(name) ?? this.#sources.get(name);
    if (source === undefined) return;
    source.end();
    await source.close(this.#graceMs);
    // Its sums go on where it runs now; here they would stand still.
    this.#deps.emitter.forget(name);
    if (this.#leaving.get(name) === source) this.#leaving.delete(name);
  }
}

const parts = ({ start, end }: WindowRange, size: number | null, limit: number): readonly WindowRange[] =>
  start < end ? split({ from: start, to: end, size, limit }) : [{ start, end }];
