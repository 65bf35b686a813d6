import type { ToolDefinitionPinning } from '../../../crds/config/adapter-file/core.ts';
import type { Caches } from '../../caches.ts';
import { type Catalog, isOwnTool, listedOwn, type OwnTool } from '../../catalog/catalog.ts';
import type { Drift } from '../../catalog/drift.ts';
import type { CleaningEvents } from '../../catalog/tool-cleaning.ts';
import { joinedPages, shownList } from '../../catalog/tool-view.ts';
import { type HiddenUi, NOTHING_HIDDEN } from '../../catalog/ui-resources.ts';
import { AdapterError } from '../../errors.ts';
import { type Span, splice } from '../../exchange/scanning/json-scan.ts';
import { toolsIn } from '../tools-in.ts';
import { lockedError } from '../../lock/locked-error.ts';
import type { ServerToolLock } from '../../lock/server-tool-lock.ts';
import type { SessionRecord } from '../../state/state-store.ts';
import { AccessViews } from './access-views.ts';
import { CurrentLists, noList } from './current-lists.ts';
import { DriftResponse, type DriftResponseEvents } from './drift-response.ts';
import { SessionPins } from './session-pins.ts';
import { NoToolsError, wholeList } from '../list-tools.ts';
import { firstPage } from './first-page.ts';
import { listingLimit } from '../listing-limit.ts';
import { allowedTools, markedTools } from './locked-tools.ts';
import { SessionDrifts } from './session-drifts.ts';
import { ownTurn } from '../../../lib/stream/own-turn.ts';
import { longest, REQUEST_TIMEOUT_MS } from '../../path/time-limits.ts';
import { LEAST_TTL_MS } from '../tool-inventory.ts';
import type { Seer, ToolSource } from '../tool-source.ts';
import { type NormalisedList, NormalisedLists } from './normalised-lists.ts';

/** Which page of a list: that of an answer which is taken up again is unknown. */
export type Page = 'first' | 'later' | 'unknown';

/** A list as one session may see it: definitions (JSON texts) in the order of the list's tools, undefined for hidden ones. */
export interface SessionTools {
  readonly list: NormalisedList;
  readonly shown: readonly (string | undefined)[];
  /** What the definitions warn of. */
  readonly drift?: Drift;
}

const NO_TOOLS = '[]';

export interface VisibleCatalogOptions extends DriftResponseEvents {
  readonly catalog: Catalog;
  readonly caches: Caches;
  readonly pinning: ToolDefinitionPinning;
  /** Undefined where nothing is locked. */
  readonly lock?: ServerToolLock | undefined;
  /** `tool_metadata_sanitization.mode` is `block`. */
  readonly blocks: boolean;
  /** How long what the upstream lists counts as its tools, in milliseconds. */
  readonly ttlMs: number;
  readonly onCleaned: CleaningEvents | undefined;
  /** Told the names in each list that is looked at first, whether clients see the tools or not, and its text. */
  readonly onTools?: ((names: readonly string[], list: string) => void) | undefined;
}

/**
 * What clients see of the tools of one upstream, and may call: made fit for a model, pinned to what their session saw
 * first, and in code mode replaced by a few tools that find and run the others.
 */
export class VisibleCatalog {
  readonly catalog: Catalog;
  readonly #hidesDrifted: boolean;
  readonly #lock: ServerToolLock | undefined;
  readonly #blocks: boolean;
  readonly #comparesPages: boolean;
  readonly #onTools: VisibleCatalogOptions['onTools'];
  readonly #views: NormalisedLists;
  readonly #lists: CurrentLists;
  readonly #pins: SessionPins;
  readonly #drifts: SessionDrifts;
  readonly #response: DriftResponse;
  readonly #accessViews = new AccessViews();

  constructor(options: VisibleCatalogOptions) {
    const { catalog, pinning, caches, lock, ttlMs, onCleaned, onTools } = options;
    this.catalog = catalog;
    this.#hidesDrifted = pinning.block_strategy === 'baseline_subset';
    this.#lock = lock;
    this.#blocks = options.blocks;
    this.#onTools = onTools;
    this.#pins = new SessionPins(pinning, caches);
    const { isStrict } = this.#pins;
    this.#comparesPages = !isStrict && ttlMs > 0;
    this.#drifts = new SessionDrifts(isStrict, caches);
    this.#response = new DriftResponse(pinning, options);
    this.#views = new NormalisedLists({ catalog, isPinned: this.#pins.any, caches, onCleaned, onTools });
    const listTtlMs = isStrict ? 0 : Math.max(ttlMs, this.#locks ? LEAST_TTL_MS : 0);
    this.#lists = new CurrentLists({ views: this.#views, lock, ttlMs: listTtlMs, keepsShown: this.#comparesPages });
  }

  /** What was worked out, or kept, in another one says nothing any more; '' where no lock wants to know. */
  get epoch(): string {
    return this.#lists.epoch;
  }

  /** The upstream has other tools now, whoever was told. */
  forget(): void {
    this.#lists.forget();
  }

  /** Whether any list of tools looks, or may look, other than the upstream's. */
  get any(): boolean {
    return this.catalog.any || this.#pins.any || this.#lock !== undefined;
  }

  /** Whether somebody wants to know the names in lists that pass as they are. */
  get readsNames(): boolean {
    return this.#onTools !== undefined && !this.any;
  }

  /** A list passes as it is: a tools/list result (JSON text). */
  passed(result: string): void {
    if (this.#lists.hasRead(result)) return;
    const { span } = this.#lists.pageOf(result);
    if (span !== undefined) this.#onTools?.(namesIn(result, span), result);
  }

  /** Nothing is served, and nothing called, on the word of a list that may have changed since. */
  get isStrict(): boolean {
    return this.#pins.isStrict;
  }

  /** Whether clients may have to do without tools that the upstream has. */
  get hidesTools(): boolean {
    const { disabled, clean, own, instead } = this.catalog;
    return (
      disabled.any || clean !== undefined || own.length > 0 || instead !== undefined || this.isStrict || this.#locks
    );
  }

  /** Whether a call has to be checked at all. */
  get checksCalls(): boolean {
    return this.#checksLists || this.#locks;
  }

  /** Whether a call has to be checked for more than a lock. */
  get #checksLists(): boolean {
    return this.isStrict || this.#blocks;
  }

  /** Whether a lock hides what differs from it. */
  get #locks(): boolean {
    return this.#lock?.enforces === true;
  }

  /**
   * A list of the upstream as the client gets it; both are JSON texts of tools/list results. Throws `tool_definition_drift` where the
   * session must not get it.
   */
  async shown(source: ToolSource, record: SessionRecord, result: string, page: Page): Promise<string> {
    const needsWhole = this.#needsWhole;
    const isWhole = page === 'first' && needsWhole;
    using limit = needsWhole ? listingLimit(source.signal, REQUEST_TIMEOUT_MS) : undefined;
    const signal = limit?.signal ?? AbortSignal.abort();
    await ownTurn(result.length);
    const first = this.#lists.pageOf(result);
    const { span } = first;
    if (span === undefined) {
      // What an upstream cannot say just now is not what it does not have.
      if (isWhole) throw noList();
      return result;
    }
    const isPart = isWhole && first.hasMore;
    const text = isPart ? await wholeList(source.request(record), signal, result) : result;
    const list = isPart ? await this.#lists.listed(text) : await this.#lists.prepared(first, span, text);
    if (isPart || (page === 'first' && !first.hasMore)) this.#lists.saw(source, record, list, text);
    const { shown: all } = await this.#forSession(source, record, list, isWhole, signal);
    const shown = await this.#lockedPage(source, record, page, list, all);
    await ownTurn(result.length);
    // The pages stay the upstream's, with its cursors.
    const ownPage = result.slice(span.start, span.end);
    const view = isPart ? firstPage(list.view, list.locked?.page(ownPage) ?? ownPage) : list.view;
    const { instead } = this.catalog;
    const own = page === 'later' ? [] : this.listedOwn(source);
    const out = shownList(view, shown.slice(0, view.tools.length), own, instead !== undefined);
    const edited = splice(result, [{ ...span, with: out }]);
    return instead === undefined ? edited : joinedPages(edited, 'tools', []);
  }

  /**
   * The definitions (JSON texts) of all tools that a client may call, as it sees them, but for the adapter's own.
   * `limitMs` is that of the call which asks.
   */
  async tools(source: ToolSource, record: SessionRecord, limitMs: number | null = null): Promise<SessionTools> {
    using limit = listingLimit(source.signal, limitMs);
    const { signal } = limit;
    try {
      return await this.#forSession(source, record, await this.#lists.current(source, record, signal), true, signal);
    } catch (error) {
      // It may have some yet, so nothing is pinned.
      if (!(error instanceof NoToolsError) || record.baseline !== null) throw error;
      const list = await this.#views.of(NO_TOOLS);
      return { list, shown: list.shown };
    }
  }

  /** The adapter's tools that a caller sees in a list. */
  listedOwn({ access }: Seer): readonly OwnTool[] {
    const all = listedOwn(this.catalog);
    return access === undefined ? all : all.filter(({ wish }) => wish === undefined || access.shows(wish));
  }

  /** Throws for calls of tools that the session must not see: `unknown_tool`, `tool_definition_drift`. */
  async checkCalls(source: ToolSource, record: SessionRecord, names: readonly (string | undefined)[]): Promise<void> {
    if (!this.#checksLists && this.#areAllowed(source, record, names)) return;
    for (const refusal of (await this.refusals(source, record, names)).values()) throw refusal;
  }

  /** Whether a lock alone has a say, and is known to allow these tools: most calls need no more. */
  #areAllowed(source: ToolSource, record: SessionRecord, names: readonly (string | undefined)[]): boolean {
    const locked = this.#lists.recent(source, record)?.locked;
    if (locked === undefined) return false;
    return names.every(
      (name) => name !== undefined && (locked.refusal(name) === undefined || isOwnTool(this.catalog, name)),
    );
  }

  /** Why some of these tools must not be called, by their names. The upstream is asked for its tools once. */
  async refusals(
    source: ToolSource,
    record: SessionRecord,
    names: readonly (string | undefined)[],
  ): Promise<Map<string | undefined, AdapterError>> {
    const refused = new Map<string | undefined, AdapterError>();
    const isPinned = this.#pins.binds(record);
    if (!isPinned && !this.#blocks && !this.#locks) return refused;
    const asked: string[] = [];
    for (const name of names) {
      // Other parsers might find one.
      if (name === undefined) refused.set(name, new AdapterError('unknown_tool', 'The tool call names no tool.'));
      else if (!isOwnTool(this.catalog, name)) asked.push(name);
    }
    if (asked.length === 0) return refused;
    using limit = listingLimit(source.signal, longest(asked.map((name) => source.timeoutOf(name))));
    const { signal } = limit;
    const list = await this.#lists.current(source, record, signal);
    for (const name of asked) {
      const refusal = list.locked?.refusal(name);
      if (refusal !== undefined) refused.set(name, lockedError('tool', name, refusal));
      else if (list.view.blocked.has(name)) refused.set(name, unknownTool(name));
    }
    if (!isPinned) return refused;
    const pinned = await this.#pins.of(source, record, list, () => this.#lists.current(source, record, signal));
    const { drift } =
      (pinned === undefined ? undefined : await this.#drifts.of(list, pinned, list, source.access)) ?? {};
    const drifted = drift === undefined ? [] : asked.filter((name) => !refused.has(name) && concerns(drift, name));
    if (drift !== undefined && drifted.length > 0) {
      this.#response.record(source, record, list, drift);
      const refusal = this.#hidesDrifted ? undefined : await this.#response.refusal(source, record, drift);
      for (const name of drifted) refused.set(name, refusal ?? unknownTool(name));
    }
    for (const name of asked) {
      // An upstream may know more tools than it lists, or know one by several spellings of its name.
      const isListed = list.view.tools.some((tool) => tool.name === name);
      if (!isListed && !refused.has(name)) refused.set(name, unknownTool(name));
    }
    return refused;
  }

  /** The user interfaces of tools that the session must not see. */
  async hiddenUi(source: ToolSource, record: SessionRecord, signal: AbortSignal): Promise<HiddenUi> {
    try {
      const list = await this.#lists.current(source, record, signal);
      const pinned = this.#pins.binds(record) ? await this.#pins.of(source, record, list, () => list) : undefined;
      const drifted = pinned && (await this.#drifts.of(list, pinned, list, source.access));
      if (source.access === undefined) return list.hiddenUi(drifted?.shown);
      return list.hiddenUi(this.#accessViews.of(list.view, drifted?.shown ?? list.shown, source.access));
    } catch (error) {
      if (error instanceof NoToolsError && record.baseline === null) return NOTHING_HIDDEN;
      throw error;
    }
  }

  /** Definitions of a page as a lock has them. */
  async #lockedPage(
    source: ToolSource,
    record: SessionRecord,
    page: Page,
    list: NormalisedList,
    shown: readonly (string | undefined)[],
  ): Promise<readonly (string | undefined)[]> {
    if (list.locked === undefined || !this.#locks) return markedTools(list, shown);
    if (page === 'first') return shown;
    // Of one page nobody can say whether a name stands on another one too.
    using limit = listingLimit(source.signal, REQUEST_TIMEOUT_MS);
    return allowedTools(list, shown, await this.#lists.current(source, record, limit.signal));
  }

  /** Whether a list must be known as a whole: pins tell what is missing, and code mode what there is. */
  get #needsWhole(): boolean {
    return this.catalog.instead !== undefined || this.#pins.any || this.#lock !== undefined;
  }

  async #forSession(
    source: ToolSource,
    record: SessionRecord,
    list: NormalisedList,
    isWhole: boolean,
    signal: AbortSignal,
  ): Promise<SessionTools> {
    const { access } = source;
    const plain = { list, shown: this.#accessViews.of(list.view, list.shown, access) };
    const pinned = await this.#pins.of(source, record, list, () =>
      isWhole ? list : this.#lists.current(source, record, signal),
    );
    if (pinned === undefined) return plain;
    const whole = isWhole ? list : await this.#wholeOf(source, record, signal);
    const drifted = await this.#drifts.of(list, pinned, whole, access);
    if (drifted === undefined) return plain;
    const { drift } = drifted;
    const shown = this.#accessViews.of(list.view, drifted.shown, access);
    this.#response.record(source, record, list, drift);
    if (this.isStrict && !this.#hidesDrifted) throw await this.#response.refusal(source, record, drift);
    return { list, shown, ...(this.isStrict ? {} : { drift }) };
  }

  /** What a page is a part of, where that is known well enough: warnings speak of all that has changed. */
  async #wholeOf(source: ToolSource, record: SessionRecord, signal: AbortSignal): Promise<NormalisedList | undefined> {
    return this.#comparesPages ? this.#lists.current(source, record, signal) : undefined;
  }
}

const unknownTool = (name: string): AdapterError => new AdapterError('unknown_tool', `Unknown tool: ${name}`);

function namesIn(result: string, { start }: Span): string[] {
  return Array.from(toolsIn(result, start), ({ name }) => name).filter((name) => name !== undefined);
}

function concerns({ changed, added, removed }: Drift, name: string): boolean {
  return changed.some((one) => one.name === name) || added.includes(name) || removed.includes(name);
}
