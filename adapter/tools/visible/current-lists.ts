import { hash } from 'node:crypto';

import { LRUCache } from 'lru-cache';

import { listIn } from '../../catalog/tool-view.ts';
import { AdapterError } from '../../errors.ts';
import type { Span } from '../../exchange/scanning/json-scan.ts';
import type { ServerToolLock } from '../../lock/server-tool-lock.ts';
import { ownTurn } from '../../../lib/stream/own-turn.ts';
import { isWorkspace } from '../../sessions/workspace.ts';
import type { SessionRecord } from '../../state/state-store.ts';
import { askList } from '../ask-list.ts';
import { hasMore } from '../list-tools.ts';
import { SingleFlight } from '../single-flight.ts';
import type { Listed } from '../tool-inventory.ts';
import type { ToolSource } from '../tool-source.ts';
import type { NormalisedList, NormalisedLists } from './normalised-lists.ts';

const MAX_RECENT = 10_000;
const MAX_PAGES = 1_000;

/** What is read of a result before its tools are looked at. */
export interface ReadPage {
  /** Where its list stands; undefined where it has none. */
  readonly span: Span | undefined;
  readonly hasMore: boolean;
  /** The key of the prepared list; '' before it was prepared. */
  list: string;
}

export interface CurrentListsOptions {
  readonly views: NormalisedLists;
  /** Undefined where nothing is locked. */
  readonly lock: ServerToolLock | undefined;
  /** How long what the upstream lists counts as its tools, in milliseconds; 0: it is always asked. */
  readonly ttlMs: number;
  /** What a client was shown counts as asked. */
  readonly keepsShown: boolean;
}

/** What one upstream lists now, as far as it has been asked, and asked where it has not. */
export class CurrentLists {
  readonly #views: NormalisedLists;
  readonly #lock: ServerToolLock | undefined;
  readonly #ttlMs: number;
  readonly #keepsShown: boolean;
  /** Which list a client in a session was shown a moment ago. */
  readonly #recent = new LRUCache<string, string>({ max: MAX_RECENT, ttl: 1 });
  /** The keys of prepared lists. */
  readonly #inventory = new WeakMap<Listed, { readonly key: string; readonly revision: number | undefined }>();
  #forgotten = 0;
  /** By the result (JSON text). */
  readonly #pages = new LRUCache<string, ReadPage>({ max: MAX_PAGES });
  readonly #asking = new SingleFlight<string>();

  constructor({ views, lock, ttlMs, keepsShown }: CurrentListsOptions) {
    this.#views = views;
    this.#lock = lock;
    this.#ttlMs = ttlMs;
    this.#keepsShown = keepsShown;
  }

  /** What was worked out, or kept, in another one says nothing any more; '' where no lock wants to know. */
  get epoch(): string {
    return this.#lock === undefined ? '' : `${this.#lock.revision}.${this.#forgotten}`;
  }

  /** The upstream has other tools now, whoever was told. */
  forget(): void {
    this.#forgotten += 1;
  }

  /** Whether this result (JSON text) was read a moment ago. */
  hasRead(result: string): boolean {
    return this.#pages.has(this.#pageKey(result));
  }

  /** Upstreams say the same again and again: that is quicker to see than to read. */
  pageOf(result: string): ReadPage {
    const key = this.#pageKey(result);
    let page = this.#pages.get(key);
    if (page === undefined) {
      page = { span: listIn(result), hasMore: hasMore(result), list: '' };
      this.#pages.set(key, page);
    }
    return page;
  }

  /** The list of a page that has one. */
  async prepared(page: ReadPage, span: Span, result: string): Promise<NormalisedList> {
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

  /** The list of a result (JSON text). Throws `upstream_failed` where it has none. */
  async listed(result: string): Promise<NormalisedList> {
    await ownTurn(result.length);
    const page = this.pageOf(result);
    if (page.span === undefined) throw noList();
    return this.prepared(page, page.span, result);
  }

  /** All tools, as the client asked for them: the adapter need not ask again. */
  saw(source: ToolSource, record: SessionRecord, list: NormalisedList, result: string): void {
    const request = source.request(record);
    request.inventory.saw(request, result);
    if (!this.#keepsShown || isWorkspace(record)) return;
    this.#recent.set(this.#sessionKey(source, record), list.key, { ttl: this.#ttlMs });
  }

  /** What a client in a session was shown a moment ago. */
  recent(source: ToolSource, record: SessionRecord): NormalisedList | undefined {
    const known = isWorkspace(record) ? undefined : this.#recent.get(this.#sessionKey(source, record));
    return known === undefined ? undefined : this.#views.known(known);
  }

  /** The upstream's tools now; where nothing is at stake, as they were a moment ago. */
  async current(source: ToolSource, record: SessionRecord, signal: AbortSignal): Promise<NormalisedList> {
    const ttl = this.#ttlMs;
    if (ttl === 0) return this.listed(await askList(source, record, signal));
    if (isWorkspace(record)) {
      const request = source.request(record);
      const { inventory } = request;
      return this.#inventoried(inventory.known(request) ?? (await inventory.ask(request, signal)));
    }
    const known = this.recent(source, record);
    if (known !== undefined) return known;
    const key = this.#sessionKey(source, record);
    const result = await this.#asking.of(key, signal, (shared) => askList(source, record, shared));
    const listed = await this.listed(result);
    this.#recent.set(key, listed.key, { ttl });
    return listed;
  }

  async #inventoried(listed: Listed): Promise<NormalisedList> {
    const revision = this.#lock?.revision;
    const prepared = this.#inventory.get(listed);
    const known = prepared?.revision === revision ? this.#views.known(prepared?.key ?? '') : undefined;
    if (known !== undefined) return known;
    const list = await this.listed(listed.result);
    this.#inventory.set(listed, { key: list.key, revision });
    return list;
  }

  #pageKey(result: string): string {
    return `${this.#lock?.revision ?? ''}\n${hash('sha256', result, 'base64')}`;
  }

  #sessionKey({ clientKey }: ToolSource, { sessionId, generation, listsGeneration }: SessionRecord): string {
    return [sessionId, generation, listsGeneration, clientKey, this.epoch].join('\n');
  }
}

export const noList = (): AdapterError =>
  new AdapterError('upstream_failed', 'The upstream server answered with something else than a list of tools.');
