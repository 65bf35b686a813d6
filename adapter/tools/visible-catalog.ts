import { hash } from 'node:crypto';

import { LRUCache } from 'lru-cache';

import type { ToolDefinitionPinning } from '../../crds/config/adapter-file/core.ts';
import type { Cache, Caches } from '../caches.ts';
import type { Baseline } from '../catalog/baseline.ts';
import { type Catalog, isOwnTool, listedOwn, type OwnTool } from '../catalog/catalog.ts';
import { dataOf, type Drift, previewOf } from '../catalog/drift.ts';
import type { CleaningEvents } from '../catalog/tool-cleaning.ts';
import { joinedPages, listIn, shownList } from '../catalog/tool-view.ts';
import { type HiddenUi, NOTHING_HIDDEN } from '../catalog/ui-resources.ts';
import { AdapterError } from '../errors.ts';
import { elements, locate, type Span, splice } from '../exchange/scanning/json-scan.ts';
import { lockedError } from '../lock/locked-error.ts';
import type { ServerToolLock } from '../lock/server-tool-lock.ts';
import { isWorkspace } from '../sessions/workspace.ts';
import type { SessionRecord } from '../state/state-store.ts';
import { AccessViews } from './access-views.ts';
import { askList } from './ask-list.ts';
import { hasMore, NoToolsError, wholeList } from './list-tools.ts';
import { firstPage } from './first-page.ts';
import { listingLimit } from './listing-limit.ts';
import { seenBy } from '../sessions/seen-by.ts';
import { allowedTools, markedTools } from './locked-tools.ts';
import { SessionDrifts } from './session-drifts.ts';
import { SingleFlight } from './single-flight.ts';
import { ownTurn } from '../../lib/stream/own-turn.ts';
import { longest, REQUEST_TIMEOUT_MS } from '../path/time-limits.ts';
import { LEAST_TTL_MS, type Listed } from './tool-inventory.ts';
import type { Seer, ToolSource } from './tool-source.ts';
import { type NormalisedList, NormalisedLists } from './normalised-lists.ts';

/** Of what is kept for a client without a session, as for sessions (`StateStore.baseline`). */
const MAX_KEPT_CHARS = 64 << 10;
const MAX_RECENT = 10_000;
const MAX_TOLD = 10_000;
const MAX_PAGES = 1_000;
/** An upstream that changes its tools all the time does not write the log. */
const TELL_EVERY_MS = 60_000;
const NO_TOOLS = '[]';

/** Which page of a list: that of an answer which is taken up again is unknown. */
export type Page = 'first' | 'later' | 'unknown';

/** A list as one session may see it: definitions (JSON texts) in the order of the list's tools, undefined for hidden ones. */
export interface SessionTools {
  readonly list: NormalisedList;
  readonly shown: readonly (string | undefined)[];
  /** What the definitions warn of. */
  readonly drift?: Drift;
}

/** What is read of a result before its tools are looked at. */
interface ReadPage {
  /** Where its list stands; undefined where it has none. */
  readonly span: Span | undefined;
  readonly hasMore: boolean;
  /** The key of the prepared list; '' before it was prepared. */
  list: string;
}

export interface VisibleCatalogOptions {
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
  /** A session's tools differ from those that it saw first. Told once for each difference, and once a minute at most. */
  readonly onDrift: ((sessionId: string, preview: string) => void) | undefined;
  /** The same, each time that it is seen, with what follows from it. */
  readonly onDriftSeen?: ((outcome: DriftOutcome) => void) | undefined;
  /** Told the names in each list that is looked at first, whether clients see the tools or not, and its text. */
  readonly onTools?: ((names: readonly string[], list: string) => void) | undefined;
}

export type DriftOutcome = 'warn' | 'block_baseline_subset' | 'block_error' | 'block_error_invalidate_session';

/**
 * What clients see of the tools of one upstream, and may call: made fit for a model, pinned to what their session saw
 * first, and in code mode replaced by a few tools that find and run the others.
 */
export class VisibleCatalog {
  readonly catalog: Catalog;
  readonly #pinning: ToolDefinitionPinning;
  readonly #lock: ServerToolLock | undefined;
  readonly #blocks: boolean;
  readonly #ttlMs: number;
  readonly #onDrift: VisibleCatalogOptions['onDrift'];
  readonly #onDriftSeen: VisibleCatalogOptions['onDriftSeen'];
  readonly #onTools: VisibleCatalogOptions['onTools'];
  readonly #views: NormalisedLists;
  /** By fingerprint; a baseline never changes. */
  readonly #baselines: Cache<Baseline>;
  readonly #drifts: SessionDrifts;
  readonly #accessViews = new AccessViews();
  /** Which list a client in a session was shown a moment ago. */
  readonly #recent = new LRUCache<string, string>({ max: MAX_RECENT, ttl: 1 });
  /** The keys of prepared lists. */
  readonly #inventory = new WeakMap<Listed, { readonly key: string; readonly revision: number | undefined }>();
  #forgotten = 0;
  /** By the result (JSON text). */
  readonly #pages = new LRUCache<string, ReadPage>({ max: MAX_PAGES });
  readonly #asking = new SingleFlight<string>();
  /** By session: the list whose drift was told last. */
  readonly #told = new LRUCache<string, { readonly list: string; readonly at: number }>({ max: MAX_TOLD });

  constructor(options: VisibleCatalogOptions) {
    this.catalog = options.catalog;
    this.#pinning = options.pinning;
    this.#lock = options.lock;
    this.#blocks = options.blocks;
    this.#ttlMs = options.ttlMs;
    this.#onDrift = options.onDrift;
    this.#onDriftSeen = options.onDriftSeen;
    this.#onTools = options.onTools;
    const { catalog, pinning, caches, onCleaned, onTools } = options;
    this.#baselines = caches.region(({ text }) => text.length);
    this.#drifts = new SessionDrifts(pinning.mode === 'block', caches);
    this.#views = new NormalisedLists({ catalog, isPinned: pinning.mode !== 'off', caches, onCleaned, onTools });
  }

  /** What was worked out, or kept, in another one says nothing any more; '' where no lock wants to know. */
  get epoch(): string {
    return this.#lock === undefined ? '' : `${this.#lock.revision}.${this.#forgotten}`;
  }

  /** The upstream has other tools now, whoever was told. */
  forget(): void {
    this.#forgotten += 1;
  }

  /** Whether any list of tools looks, or may look, other than the upstream's. */
  get any(): boolean {
    return this.catalog.any || this.#pinning.mode !== 'off' || this.#lock !== undefined;
  }

  /** Whether somebody wants to know the names in lists that pass as they are. */
  get readsNames(): boolean {
    return this.#onTools !== undefined && !this.any;
  }

  /** A list passes as it is: a tools/list result (JSON text). */
  passed(result: string): void {
    if (this.#pages.has(`\n${hash('sha256', result, 'base64')}`)) return;
    const { span } = this.#pageOf(result);
    if (span !== undefined) this.#onTools?.(namesIn(result, span), result);
  }

  /** Nothing is served, and nothing called, on the word of a list that may have changed since. */
  get isStrict(): boolean {
    return this.#pinning.mode === 'block';
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
    const first = this.#pageOf(result);
    const { span } = first;
    if (span === undefined) {
      // What an upstream cannot say just now is not what it does not have.
      if (isWhole) throw noList();
      return result;
    }
    const isPart = isWhole && first.hasMore;
    const text = isPart ? await wholeList(source.request(record), signal, result) : result;
    const list = isPart ? await this.#listed(text) : await this.#prepared(first, span, text);
    if (isPart || (page === 'first' && !first.hasMore)) this.#saw(source, record, list, text);
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
      return await this.#forSession(source, record, await this.#current(source, record, signal), true, signal);
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
    const known = isWorkspace(record) ? undefined : this.#recent.get(this.#sessionKey(source, record));
    const locked = known === undefined ? undefined : this.#views.known(known)?.locked;
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
    const isPinned = this.#isPinned(record);
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
    const list = await this.#current(source, record, signal);
    for (const name of asked) {
      const refusal = list.locked?.refusal(name);
      if (refusal !== undefined) refused.set(name, lockedError('tool', name, refusal));
      else if (list.view.blocked.has(name)) refused.set(name, unknownTool(name));
    }
    if (!isPinned) return refused;
    const pinned = await this.#pinned(source, record, list, false, signal);
    const { drift } =
      (pinned === undefined ? undefined : await this.#drifts.of(list, pinned, list, source.access)) ?? {};
    const drifted = drift === undefined ? [] : asked.filter((name) => !refused.has(name) && concerns(drift, name));
    if (drift !== undefined && drifted.length > 0) {
      this.#tell(source, record, list, drift);
      const isHidden = this.#pinning.block_strategy === 'baseline_subset';
      const refusal = isHidden ? undefined : await this.#refusal(source, record, drift);
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
      const list = await this.#current(source, record, signal);
      const pinned = this.#isPinned(record) ? await this.#pinned(source, record, list, true, signal) : undefined;
      const drifted = pinned && (await this.#drifts.of(list, pinned, list, source.access));
      if (source.access === undefined) return list.hiddenUi(drifted?.shown);
      return list.hiddenUi(this.#accessViews.of(list.view, drifted?.shown ?? list.shown, source.access));
    } catch (error) {
      if (error instanceof NoToolsError && record.baseline === null) return NOTHING_HIDDEN;
      throw error;
    }
  }

  /** Whether what the session saw first counts for what it may use now. */
  #isPinned(record: SessionRecord): boolean {
    return this.isStrict && (isWorkspace(record) || record.baseline !== null);
  }

  /** Upstreams say the same again and again: that is quicker to see than to read. */
  #pageOf(result: string): ReadPage {
    const key = `${this.#lock?.revision ?? ''}\n${hash('sha256', result, 'base64')}`;
    let page = this.#pages.get(key);
    if (page === undefined) {
      page = { span: listIn(result), hasMore: hasMore(result), list: '' };
      this.#pages.set(key, page);
    }
    return page;
  }

  async #prepared(page: ReadPage, span: Span, result: string): Promise<NormalisedList> {
    const known = this.#views.known(page.list);
    if (known !== undefined) {
      if (known.locked !== undefined && !page.hasMore) this.#lock?.saw('tools', known.locked);
      return known;
    }
    await ownTurn(result.length);
    const text = result.slice(span.start, span.end);
    const list = await this.#views.of(text, await this.#lock?.list('tools', text, !page.hasMore));
    page.list = list.key;
    return list;
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
    return allowedTools(list, shown, await this.#current(source, record, limit.signal));
  }

  /** Whether a list must be known as a whole: pins tell what is missing, and code mode what there is. */
  get #needsWhole(): boolean {
    return this.catalog.instead !== undefined || this.#pins || this.#lock !== undefined;
  }

  get #pins(): boolean {
    return this.#pinning.mode !== 'off';
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
    const pinned = await this.#pinned(source, record, list, isWhole, signal);
    if (pinned === undefined) return plain;
    const whole = isWhole ? list : await this.#wholeOf(source, record, signal);
    const drifted = await this.#drifts.of(list, pinned, whole, access);
    if (drifted === undefined) return plain;
    const { drift } = drifted;
    const shown = this.#accessViews.of(list.view, drifted.shown, access);
    this.#tell(source, record, list, drift);
    if (this.isStrict && this.#pinning.block_strategy === 'error') throw await this.#refusal(source, record, drift);
    return { list, shown, ...(this.isStrict ? {} : { drift }) };
  }

  /** What a page is a part of, where that is known well enough: warnings speak of all that has changed. */
  async #wholeOf(source: ToolSource, record: SessionRecord, signal: AbortSignal): Promise<NormalisedList | undefined> {
    return this.isStrict || this.#ttlMs === 0 ? undefined : this.#current(source, record, signal);
  }

  #driftOutcome(record: SessionRecord): DriftOutcome {
    const { block_strategy, block_error_session_action } = this.#pinning;
    if (!this.isStrict) return 'warn';
    if (block_strategy === 'baseline_subset') return 'block_baseline_subset';
    return block_error_session_action === 'invalidate' && !isWorkspace(record)
      ? 'block_error_invalidate_session'
      : 'block_error';
  }

  /** The error for a session whose tools have drifted, which ends it where it is to end (specification, section 3.1). */
  async #refusal(source: ToolSource, record: SessionRecord, drift: Drift): Promise<AdapterError> {
    const preview = previewOf(drift);
    if (isWorkspace(record)) {
      const seconds = this.#pinning.sessionless_ttl_seconds;
      return new AdapterError(
        'tool_definition_drift',
        `Tools of this server have changed since this client saw them first: ${preview}. They are accepted once this client has not asked for ${seconds} seconds.`,
        { data: dataOf(drift) },
      );
    }
    if (this.#pinning.block_error_session_action === 'invalidate') {
      await source.invalidate(record, `its tools have changed: ${preview}`);
    }
    return new AdapterError(
      'tool_definition_drift',
      `Tools of this server have changed since this session saw them first: ${preview}. Open a new session to accept them.`,
      { data: dataOf(drift) },
    );
  }

  /** What the session saw first: if it has seen nothing yet, this list, or all that a part of it is a part of. */
  async #pinned(
    source: ToolSource,
    record: SessionRecord,
    list: NormalisedList,
    isWhole: boolean,
    signal: AbortSignal,
  ): Promise<Baseline | undefined> {
    if (!this.#pins) return undefined;
    const { store } = source;
    if (isWorkspace(record)) {
      const { baseline } = isWhole ? list : await this.#current(source, record, signal);
      return this.#pinnedWithoutSession(source, record, baseline);
    }
    const { baseline: fingerprint } = record;
    if (fingerprint === null) {
      const { baseline } = isWhole ? list : await this.#current(source, record, signal);
      const pinned = await store.pin(record, baseline);
      if (pinned === undefined) throw new AdapterError('session_ended');
      return pinned;
    }
    const now = await list.baselineLike({ fingerprint });
    if (fingerprint === now.fingerprint) return now;
    let pinned = this.#baselines.get(fingerprint);
    if (pinned === undefined) {
      pinned = await store.baseline(record);
      if (pinned === undefined) throw new AdapterError('session_ended');
      // Of one that is known by its fingerprint only, more may be known soon.
      if (pinned.text !== '') this.#baselines.set(fingerprint, pinned);
    }
    return pinned;
  }

  /** What a client without a session saw first; it is forgotten some time after it asked last. */
  async #pinnedWithoutSession(source: ToolSource, record: SessionRecord, baseline: Baseline): Promise<Baseline> {
    const { name, ttlMs } = seenBy(record, source.clientKey, this.#pinning.sessionless_ttl_seconds * 1000);
    const now = source.store.now();
    const text = baseline.text.length > MAX_KEPT_CHARS ? '' : baseline.text;
    const time = { now, expiresAt: now + ttlMs };
    const kept = await source.store.firstTexts.keep(`${name}:tools`, `${baseline.fingerprint}\n${text}`, time);
    const end = kept.indexOf('\n');
    return { fingerprint: kept.slice(0, end), text: kept.slice(end + 1) };
  }

  /** All tools, as the client asked for them: the adapter need not ask again. */
  #saw(source: ToolSource, record: SessionRecord, list: NormalisedList, result: string): void {
    const request = source.request(record);
    request.inventory.saw(request, result);
    if (this.isStrict || this.#ttlMs === 0 || isWorkspace(record)) return;
    this.#recent.set(this.#sessionKey(source, record), list.key, { ttl: this.#ttlMs });
  }

  /** The upstream's tools now; where nothing is at stake, as they were a moment ago. */
  async #current(source: ToolSource, record: SessionRecord, signal: AbortSignal): Promise<NormalisedList> {
    const ttl = this.isStrict ? 0 : Math.max(this.#ttlMs, this.#locks ? LEAST_TTL_MS : 0);
    if (ttl === 0) return this.#listed(await askList(source, record, signal));
    if (isWorkspace(record)) {
      const request = source.request(record);
      const { inventory } = request;
      return this.#inventoried(inventory.known(request) ?? (await inventory.ask(request, signal)));
    }
    const key = this.#sessionKey(source, record);
    const known = this.#recent.get(key);
    const list = known === undefined ? undefined : this.#views.known(known);
    if (list !== undefined) return list;
    const result = await this.#asking.of(key, signal, (shared) => askList(source, record, shared));
    const listed = await this.#listed(result);
    this.#recent.set(key, listed.key, { ttl });
    return listed;
  }

  async #inventoried(listed: Listed): Promise<NormalisedList> {
    const revision = this.#lock?.revision;
    const prepared = this.#inventory.get(listed);
    const known = prepared?.revision === revision ? this.#views.known(prepared?.key ?? '') : undefined;
    if (known !== undefined) return known;
    const list = await this.#listed(listed.result);
    this.#inventory.set(listed, { key: list.key, revision });
    return list;
  }

  async #listed(result: string): Promise<NormalisedList> {
    await ownTurn(result.length);
    const page = this.#pageOf(result);
    if (page.span === undefined) throw noList();
    return this.#prepared(page, page.span, result);
  }

  #sessionKey({ clientKey }: ToolSource, { sessionId, generation, listsGeneration }: SessionRecord): string {
    return [sessionId, generation, listsGeneration, clientKey, this.epoch].join('\n');
  }

  #tell({ clientKey }: ToolSource, record: SessionRecord, list: NormalisedList, drift: Drift): void {
    const { sessionId, principal } = record;
    const who = isWorkspace(record) ? `${principal}\n${clientKey}` : sessionId;
    this.#onDriftSeen?.(this.#driftOutcome(record));
    const told = this.#told.get(who);
    const now = Date.now();
    if (told !== undefined && (told.list === list.baseline.fingerprint || now < told.at + TELL_EVERY_MS)) return;
    this.#told.set(who, { list: list.baseline.fingerprint, at: now });
    this.#onDrift?.(sessionId, previewOf(drift));
  }
}

const noList = (): AdapterError =>
  new AdapterError('upstream_failed', 'The upstream server answered with something else than a list of tools.');

const unknownTool = (name: string): AdapterError => new AdapterError('unknown_tool', `Unknown tool: ${name}`);

function namesIn(result: string, { start }: Span): string[] {
  const names: string[] = [];
  for (const tool of elements(result, start)) {
    const name = locate(result, ['name'], tool.start);
    if (name !== undefined && result.charAt(name.start) === '"')
      names.push(JSON.parse(result.slice(name.start, name.end)));
  }
  return names;
}

function concerns({ changed, added, removed }: Drift, name: string): boolean {
  return changed.some((one) => one.name === name) || added.includes(name) || removed.includes(name);
}
