import { hash } from 'node:crypto';

import { LRUCache } from 'lru-cache';

import type { ToolDefinitionPinning, ToolMetadataSanitization } from '../../crds/config/adapter-file/core.ts';
import type { LockKind } from '../../crds/config/lock-file/lock-document.ts';
import type { Cache, Caches } from '../caches.ts';
import { type Drift, withWarningText } from '../catalog/drift.ts';
import { rowOf, rowsOf, type Since, since } from '../catalog/first-seen.ts';
import { type CleanEntry, cleanList, type ListKind } from '../catalog/list-cleaning.ts';
import { MAX_DEFINITION_CHARS } from '../catalog/prepared-tool.ts';
import { removals } from '../catalog/removals.ts';
import { sanitizeDefinition } from '../catalog/sanitization.ts';
import { type CleaningEvents, eventsOf } from '../catalog/tool-cleaning.ts';
import { withEscapes } from '../catalog/visible-text.ts';
import { instructionsIn } from '../lock/instructions-in.ts';
import type { LockedList } from '../lock/locked-list.ts';
import type { ServerToolLock } from '../lock/server-tool-lock.ts';
import { locate, members, type Span, splice } from '../exchange/scanning/json-scan.ts';
import { yieldToEventLoop } from '../../lib/stream/yield-to-event-loop.ts';

/** About what an entry takes up beside its text. */
const ENTRY_OVERHEAD = 200;
const MAX_LOGGED = 1_000;
/** Names in a log line. */
const MAX_NAMED = 10;

const MEMBER_OF: Readonly<Record<ListKind, string>> = {
  prompt: 'prompts',
  resource: 'resources',
  template: 'resourceTemplates',
};

type Part = ListKind | 'instructions';

/** What a client saw first. */
export interface FirstSeen {
  /** Undefined where nothing is kept. */
  find(part: Part): Promise<string | undefined>;
  /** Gives back the text that was kept first, which may be this one. */
  keep(part: Part, text: string): Promise<string>;
}

export interface ServerTextsOptions {
  readonly caches: Caches;
  readonly sanitization: ToolMetadataSanitization;
  readonly pinning: ToolDefinitionPinning;
  /** Undefined where nothing is locked. */
  readonly lock?: ServerToolLock | undefined;
  readonly onCleaned: CleaningEvents | undefined;
  /** Something differs from what a client saw first: what, in words fit for a log. Told once for each difference. */
  readonly onDrift: ((preview: string) => void) | undefined;
}

/** What a lock knows of these lists; resources are data. */
const LOCKED_AS: Readonly<Partial<Record<ListKind, LockKind>>> = { prompt: 'prompts', template: 'resourceTemplates' };

interface PreparedTexts {
  readonly list: string;
  /** What a lock says of the list. */
  readonly locked: LockedList | undefined;
  readonly entries: readonly CleanEntry[];
  readonly isShorter: boolean;
  /** '' where nothing is pinned. */
  readonly rows: string;
  /** What those are named by that clients must not see for what they say. */
  readonly hidden: ReadonlySet<string | undefined>;
}

export interface LookedAt {
  readonly hidden: ReadonlySet<string | undefined>;
  /** What the others are named by. */
  readonly listed: ReadonlySet<string | undefined>;
  /** What a lock says of the list. */
  readonly locked: LockedList | undefined;
  /** What of them has changed, or is new, since the client saw the list first. */
  readonly drift: Drift | undefined;
}

/**
 * What an upstream says to models beside its tools: its instructions, its name, prompts, resources and templates. Made
 * fit for them like tools, and compared with what the client saw first. What has changed, and prompts and templates that
 * are new, are marked with a warning (`warn`) or left out (`block`); new resources are what resources are for.
 */
export class ServerTexts {
  readonly #options: ServerTextsOptions;
  readonly #lists: Cache<PreparedTexts>;
  readonly #logged = new LRUCache<string, true>({ max: MAX_LOGGED });

  constructor(options: ServerTextsOptions) {
    this.#options = options;
    this.#lists = options.caches.region(({ list, entries, rows }) =>
      entries.reduce((sum, { text }) => sum + text.length + ENTRY_OVERHEAD, list.length + rows.length),
    );
  }

  /** Whether any of it looks, or may look, other than the upstream's. */
  get any(): boolean {
    return this.#options.sanitization.mode !== 'off' || this.pins || this.#options.lock !== undefined;
  }

  get pins(): boolean {
    return this.#options.pinning.mode !== 'off';
  }

  /** How long it counts what a client without sessions saw first, after it asked last; milliseconds. */
  get sessionlessTtlMs(): number {
    return this.#options.pinning.sessionless_ttl_seconds * 1000;
  }

  get blocks(): boolean {
    return this.#options.pinning.mode === 'block';
  }

  /** Whether an entry is hidden for what it says, where it could be cleaned. */
  get hides(): boolean {
    return this.#options.sanitization.mode === 'block';
  }

  /** Whether a lock hides what differs from it. */
  get locks(): boolean {
    return this.#options.lock?.enforces === true;
  }

  /** Whether what has changed does not exist for clients, and is no error. */
  get servesSubset(): boolean {
    return this.#options.pinning.block_strategy === 'baseline_subset';
  }

  /**
   * What there is on a whole list (JSON text of a result), and what is wrong with it.
   * @param first undefined where nothing is compared
   */
  async look(kind: ListKind, whole: string, first: FirstSeen | undefined): Promise<LookedAt> {
    const span = listIn(kind, whole);
    const prepared = await this.#prepared(kind, span === undefined ? '[]' : whole.slice(span.start, span.end));
    const changes = await this.#changes(kind, prepared, first, undefined);
    const { entries, hidden, locked } = prepared;
    const those = (change: Since): string[] =>
      entries.flatMap(({ id }, i) => (changes?.[i] === change ? (id ?? []) : []));
    return {
      hidden,
      locked,
      listed: new Set(entries.map(({ id }) => id)),
      drift: changes && {
        changed: those('changed').map((name) => ({ name, fields: [] })),
        added: those('new'),
        removed: [],
      },
    };
  }

  /**
   * A result with a list (JSON text) as the client gets it.
   * @param first undefined where nothing is compared
   * @param whole how to get the whole list (JSON text of a result) that this one is a page of; undefined where it is all
   */
  async shown(
    kind: ListKind,
    result: string,
    first: FirstSeen | undefined,
    whole?: () => Promise<string>,
  ): Promise<string> {
    const span = listIn(kind, result);
    if (span === undefined) return result;
    const prepared = await this.#prepared(kind, result.slice(span.start, span.end));
    const { entries, list, isShorter, locked } = prepared;
    const isUpstreams = list.length === span.end - span.start && locked?.marks !== true;
    const changes = await this.#changes(kind, prepared, first, whole);
    if (
      changes === undefined &&
      !isShorter &&
      isUpstreams &&
      entries.every((one) => one.text.length === one.span.end - one.span.start)
    ) {
      const isSame = entries.every(({ span: at, text }) => text === list.slice(at.start, at.end));
      if (isSame) return result;
    }
    const shown = entries.map(({ id, text }, i) =>
      this.#marked(kind, locked?.marked(id, text) ?? text, changes?.[i] ?? 'same'),
    );
    const with_ =
      isShorter || shown.includes(undefined)
        ? `[${shown.filter((one) => one !== undefined).join(',')}]`
        : splice(
            list,
            entries.map(({ span: at }, i) => ({ ...at, with: shown[i] ?? '' })),
          );
    return splice(result, [{ ...span, with: with_ }]);
  }

  /** The result of `initialize` or `server/discover` (JSON text) as the client gets it. */
  async greeting(upstreams: string, first: FirstSeen | undefined): Promise<string> {
    const { sanitization, onCleaned, lock } = this.#options;
    const isAllowed = lock?.allowsInstructions(instructionsIn(upstreams)) !== false;
    const result = isAllowed ? upstreams : without(upstreams, 'instructions');
    if (result.length > MAX_DEFINITION_CHARS && sanitization.mode !== 'off') {
      this.#once(result, () => onCleaned?.(greetingEvent(['longer than the adapter looks at'], true), 'greeting'));
      return without(result, 'instructions');
    }
    const { text, modified } = sanitizeDefinition(result, sanitization, 'greeting');
    const isBlocked = sanitization.mode === 'block' && instructionsOf(text) !== instructionsOf(result);
    if (modified.length > 0) this.#once(result, () => onCleaned?.(greetingEvent(modified, isBlocked), 'greeting'));
    return this.#comparedGreeting(isBlocked ? without(text, 'instructions') : text, first);
  }

  async #comparedGreeting(text: string, first: FirstSeen | undefined): Promise<string> {
    if (first === undefined || !this.pins) return text;
    const said = instructionsOf(text);
    const row = rowOf(said);
    if ((await first.keep('instructions', row)) === row) return text;
    this.#once(`instructions\n${row}`, () => this.#options.onDrift?.('changed=instructions'));
    if (said === '') return text;
    if (this.blocks) return without(text, 'instructions');
    return withWarningText(text, 'instructions', CHANGED_INSTRUCTIONS);
  }

  async #prepared(kind: ListKind, upstreams: string): Promise<PreparedTexts> {
    const lockedAs = LOCKED_AS[kind];
    const locked = lockedAs === undefined ? undefined : await this.#options.lock?.list(lockedAs, upstreams);
    const list = locked?.list ?? upstreams;
    const key = `${kind}\n${locked?.key ?? ''}\n${hash('sha256', upstreams, 'base64')}`;
    const known = this.#lists.get(key);
    if (known !== undefined) return known;
    const { entries, isShorter, cleaned } = await yieldToEventLoop(cleanList(list, kind, this.#options.sanitization));
    const hidden = new Set(cleaned.flatMap(({ name, isHidden }) => (isHidden ? [name] : [])));
    const prepared = { list, locked, entries, isShorter, hidden, rows: this.pins ? rowsOf(entries, kind) : '' };
    this.#lists.set(key, prepared);
    for (const event of eventsOf(cleaned)) this.#options.onCleaned?.(event, kind);
    return prepared;
  }

  /** What has become of each entry since the client saw the list first; undefined where nothing has. */
  async #changes(
    kind: ListKind,
    { entries, rows }: PreparedTexts,
    first: FirstSeen | undefined,
    whole: (() => Promise<string>) | undefined,
  ): Promise<Since[] | undefined> {
    if (first === undefined || !this.pins) return undefined;
    const seen = await this.#seen(kind, rows, first, whole);
    const changes = since(seen, rows)?.map((one): Since => (kind === 'resource' && one === 'new' ? 'same' : one));
    if (changes === undefined || changes.every((one) => one === 'same')) return undefined;
    const named = entries.flatMap(({ id }, i) => {
      const change = changes[i] ?? 'same';
      return change === 'same' ? [] : `${change}=${withEscapes((id ?? '').slice(0, 128))}`;
    });
    this.#once(`${kind}\n${hash('sha256', seen + rows, 'base64')}`, () =>
      this.#options.onDrift?.(`${MEMBER_OF[kind]}: ${named.slice(0, MAX_NAMED).join(', ')}`),
    );
    return changes;
  }

  /** What the client saw first. If it has seen nothing yet, it is all that it could see now. */
  async #seen(
    kind: ListKind,
    rows: string,
    first: FirstSeen,
    whole: (() => Promise<string>) | undefined,
  ): Promise<string> {
    if (whole === undefined) return first.keep(kind, rows);
    const known = await first.find(kind);
    if (known !== undefined) return known;
    const all = await whole();
    const span = listIn(kind, all);
    const list = span === undefined ? '[]' : all.slice(span.start, span.end);
    // What is cleaned on the other pages is told when they are shown.
    const { entries } = await yieldToEventLoop(cleanList(list, kind, this.#options.sanitization));
    return first.keep(kind, rowsOf(entries, kind));
  }

  /** Undefined: left out. */
  #marked(kind: ListKind, text: string, change: Since): string | undefined {
    if (change === 'same') return text;
    if (this.blocks) return undefined;
    const what = kind === 'template' ? 'resource template' : kind;
    const warning =
      change === 'new'
        ? `WARNING: this ${what} is new: it was not there when this client saw the list first.`
        : `WARNING: this ${what} has changed since this client saw it first.`;
    return withWarningText(text, 'description', warning);
  }

  #once(what: string, log: () => void): void {
    const key = hash('sha256', what, 'base64');
    if (this.#logged.has(key)) return;
    this.#logged.set(key, true);
    log();
  }
}

const CHANGED_INSTRUCTIONS = 'WARNING: the instructions of this server have changed since this client saw them first.';

const greetingEvent = (fields: readonly string[], blocked: boolean) => ({
  tools: 1,
  first: [{ name: 'instructions', fields }],
  blocked,
});

/** Where the list stands in a result (JSON text); undefined where there is none. */
function listIn(kind: ListKind, result: string): Span | undefined {
  const span = locate(result, [MEMBER_OF[kind]]);
  return span !== undefined && result.charAt(span.start) === '[' ? span : undefined;
}

/** As JSON text, '' where there are none. */
function instructionsOf(greeting: string): string {
  const span = locate(greeting, ['instructions']);
  return span === undefined ? '' : greeting.slice(span.start, span.end);
}

/** An object without a member, however often it is there. */
function without(text: string, name: string): string {
  const gone: Span[] = Array.from(members(text))
    .filter(({ key }) => key === name)
    .map(({ keyStart, end }) => ({ start: keyStart, end }));
  return splice(text, removals(text, gone));
}
