import { hash } from 'node:crypto';

import type { Cache, Caches } from '../../caches.ts';
import { type Baseline, baselineOf, formOf, type Pin, pinOf } from '../../catalog/baseline.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import { copied, type PreparedTool, prepareTool } from '../../catalog/prepared-tool.ts';
import { cleaningEvents, type CleaningEvents } from '../../catalog/tool-cleaning.ts';
import { type ToolView, toolView } from '../../catalog/tool-view.ts';
import { HiddenUi } from '../../catalog/ui-resources.ts';
import { AdapterError } from '../../errors.ts';
import type { LockedList } from '../../lock/locked-list.ts';
import { rememberLast } from '../../../lib/memory/remember-last.ts';
import { yieldToEventLoop } from '../../../lib/stream/yield-to-event-loop.ts';
import { MAX_LIST_CHARS, MAX_LIST_TOOLS } from '../../limits.ts';

/** About what a tool takes up beside its texts. */
const TOOL_OVERHEAD = 400;

/** A list of an upstream, prepared once for all sessions that get it. */
export class NormalisedList {
  /** By which it is known: a hash of the list. */
  readonly key: string;
  readonly view: ToolView;
  /** The definitions as a client sees them to whom nothing is to be said about changes. */
  readonly shown: readonly string[];
  /** What a lock says of the list; undefined where there is none. */
  readonly locked: LockedList | undefined;
  /** In characters, about. */
  readonly size: number;
  #baseline: Baseline | undefined;
  #earlier: Promise<Baseline> | undefined;
  #hiddenUi: HiddenUi | undefined;

  constructor(key: string, view: ToolView, locked: LockedList | undefined) {
    this.key = key;
    this.view = view;
    this.locked = locked;
    this.shown = view.tools.map(({ shown }) => shown);
    this.size = view.list.length + view.ownChars + (view.tools.length + 1) * TOOL_OVERHEAD;
  }

  /** What a session is pinned to that sees this list first. */
  get baseline(): Baseline {
    return (this.#baseline ??= baselineOf(this.view.tools.flatMap(({ pin }) => pin ?? [])));
  }

  /** The same, to be compared with what a session is pinned to. */
  baselineLike(pinned: Pick<Baseline, 'fingerprint'>): Baseline | Promise<Baseline> {
    if (formOf(pinned) === 'current') return this.baseline;
    return (this.#earlier ??= yieldToEventLoop(earlierPins(this.view)).then((pins) => baselineOf(pins, 'earlier')));
  }

  /** @param shown what a session sees, undefined for what is hidden from it; without it, what anybody may see */
  hiddenUi(shown?: readonly (string | undefined)[]): HiddenUi {
    const { hiddenUi, tools } = this.view;
    if (shown === undefined)
      return (this.#hiddenUi ??= new HiddenUi(
        hiddenUi,
        tools.flatMap(({ ui }) => ui),
      ));
    const of = (isShown: boolean): string[] =>
      tools.flatMap(({ ui }, i) => ((shown[i] !== undefined) === isShown ? ui : []));
    return new HiddenUi([...hiddenUi, ...of(false)], of(true));
  }
}

function* earlierPins({ tools }: ToolView): Generator<void, readonly Pin[]> {
  const pins: Pin[] = [];
  for (const { clean, pin } of tools) {
    if (pin !== undefined) pins.push(pinOf(clean, 'earlier'));
    yield;
  }
  return pins;
}

export interface NormalisedListsOptions {
  readonly catalog: Catalog;
  readonly isPinned: boolean;
  readonly caches: Caches;
  readonly onCleaned: CleaningEvents | undefined;
  /** Told the names in each list that is looked at first, and its text. */
  readonly onTools?: ((names: readonly string[], list: string) => void) | undefined;
}

/**
 * Prepared lists by what stands in them: upstreams say the same to all sessions, again and again. Of a list that has
 * changed, only the definitions that are new cost anything.
 */
export class NormalisedLists {
  readonly #options: NormalisedListsOptions;
  readonly #lists: Cache<NormalisedList>;
  /** What has become of definitions, which lists have in common. */
  readonly #tools: Cache<PreparedTool>;
  readonly #preparing = new Map<string, Promise<NormalisedList>>();
  readonly #hash = rememberLast((text) => hash('sha256', text, 'base64'));

  constructor(options: NormalisedListsOptions) {
    this.#options = options;
    this.#lists = options.caches.region(({ size }) => size);
    this.#tools = options.caches.region(sizeOf);
  }

  /** One that was prepared before, if it is still here. */
  known(key: string): NormalisedList | undefined {
    return this.#lists.get(key);
  }

  /**
   * Throws `upstream_failed` for a list that is too long.
   * @param list JSON text
   * @param locked the same, as a lock allows it
   */
  async of(list: string, locked?: LockedList): Promise<NormalisedList> {
    if (list.length > MAX_LIST_CHARS) throw tooLong(`is longer than ${MAX_LIST_CHARS} characters`);
    const hashed = this.#hash(list);
    const key = locked === undefined ? hashed : `${hashed}\n${locked.key}`;
    const known = this.#lists.get(key) ?? this.#preparing.get(key);
    if (known !== undefined) return known;
    const preparing = this.#prepare(key, copied(locked?.list ?? list), locked).finally(() =>
      this.#preparing.delete(key),
    );
    this.#preparing.set(key, preparing);
    return preparing;
  }

  async #prepare(key: string, text: string, locked: LockedList | undefined): Promise<NormalisedList> {
    const { catalog, isPinned, onCleaned, onTools } = this.#options;
    const added: PreparedTool[] = [];
    let count = 0;
    const steps = toolView(text, (definition) => {
      if (++count > MAX_LIST_TOOLS) throw tooLong(`has more than ${MAX_LIST_TOOLS} tools`);
      const hashed = hash('sha256', definition, 'base64');
      let tool = this.#tools.get(hashed);
      if (tool === undefined) {
        tool = prepareTool(definition, catalog, isPinned);
        this.#tools.set(hashed, tool);
        added.push(tool);
      }
      return tool;
    });
    const list = new NormalisedList(key, await yieldToEventLoop(steps), locked);
    this.#lists.set(key, list);
    onTools?.([...list.view.tools.flatMap(({ name }) => name ?? []), ...list.view.blocked], text);
    for (const event of cleaningEvents(added)) onCleaned?.(event, 'tool');
    return list;
  }
}

function sizeOf({ name, clean, shown, pin, cleaned, ui }: PreparedTool): number {
  const texts = [name, clean, shown, pin?.name, ...cleaned, ...ui];
  return texts.reduce((sum, text) => sum + (text?.length ?? 0), 0);
}

const tooLong = (why: string): AdapterError =>
  new AdapterError(
    'upstream_failed',
    `The upstream server's list of tools ${why}, the most that the adapter looks at.`,
  );
