import type { Access } from '../../access/access.ts';
import type { Cache, Caches } from '../../caches.ts';
import type { Baseline } from '../../catalog/baseline.ts';
import { type Drift, driftBetween, withWarning } from '../../catalog/drift.ts';
import { copied } from '../../catalog/prepared-tool.ts';
import { yieldToEventLoop } from '../../../lib/stream/yield-to-event-loop.ts';
import { visibleDrift } from './access-views.ts';
import type { NormalisedList } from './normalised-lists.ts';

/** About what a drift, and each name in it, takes up beside its texts. */
const OVERHEAD = 400;

/** How a list differs from what a session is pinned to. */
export interface Drifted {
  readonly drift: Drift;
  /** In the order of the list's tools: definitions (JSON texts) with warnings, or undefined for what has drifted. */
  readonly shown: readonly (string | undefined)[];
  /** In characters, about. */
  readonly size: number;
}

/** Worked out once for all sessions that are pinned to the same and get the same list. */
export class SessionDrifts {
  readonly #hides: boolean;
  /** By the list, and the fingerprint of what is pinned. */
  readonly #known: Cache<Drifted>;

  /** @param hides whether what has drifted is hidden, and not warned of */
  constructor(hides: boolean, caches: Caches) {
    this.#hides = hides;
    this.#known = caches.region(({ size }) => size);
  }

  /**
   * What has changed since a session saw its tools first, and what it may see all the same.
   * @param whole what the list is a page of, the list itself where it has no others; undefined where that is not known
   * @param access what the caller may hear of
   */
  async of(
    list: NormalisedList,
    pinned: Baseline,
    whole: NormalisedList | undefined,
    access: Access | undefined,
  ): Promise<Drifted | undefined> {
    const { fingerprint } = pinned;
    const now = await list.baselineLike(pinned);
    if (fingerprint === now.fingerprint) return undefined;
    const key = `${list.key}\n${fingerprint}\n${whole?.key}\n${pinned.text === ''}\n${access?.key}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const drift = visibleDrift(driftOf(pinned, now, whole === list ? now : await whole?.baselineLike(pinned)), access);
    if (drift === undefined) return undefined;
    const shown: (string | undefined)[] = [];
    await yieldToEventLoop(this.#despite(drift, list, shown));
    const copies = this.#hides ? 0 : shown.reduce((sum, text) => sum + (text?.length ?? 0), 0);
    const { changed, added, removed } = drift;
    const names = [...changed.map(({ name }) => name), ...added, ...removed];
    const drifted = {
      drift,
      shown,
      size: names.reduce((sum, { length }) => sum + length + OVERHEAD, copies + OVERHEAD),
    };
    this.#known.set(key, drifted);
    return drifted;
  }

  /** With warnings, or without what has drifted. */
  *#despite(drift: Drift, { view }: NormalisedList, shown: (string | undefined)[]): Generator<void, void> {
    const drifted = new Set([...drift.changed.map(({ name }) => name), ...drift.added]);
    for (const tool of view.tools) {
      if (!this.#hides) shown.push(copied(withWarning(tool.shown, tool.name ?? '', drift)));
      else shown.push(drifted.has(tool.name ?? '') ? undefined : tool.shown);
      yield;
    }
  }
}

/** @param now of a list, and of what that is a page of: the same where it has no others, undefined where it is not known */
function driftOf(pinned: Baseline, now: Baseline, whole: Baseline | undefined): Drift | undefined {
  if (whole === now) return driftBetween(pinned, now);
  const own = withoutRemoved(driftBetween(pinned, now));
  const all = whole === undefined ? undefined : driftBetween(pinned, whole);
  // The page may be newer than the whole.
  return all !== undefined && isIn(own, all) ? all : own;
}

/** Whether what has drifted is among what else has. */
function isIn(drift: Drift | undefined, all: Drift): boolean {
  if (drift === undefined) return true;
  const changed = new Set(all.changed.map(({ name }) => name));
  const added = new Set(all.added);
  return drift.changed.every(({ name }) => changed.has(name)) && drift.added.every((name) => added.has(name));
}

/** Of one page of several nobody can say what is missing. */
function withoutRemoved(drift: Drift | undefined): Drift | undefined {
  if (drift === undefined || drift.changed.length + drift.added.length === 0) return undefined;
  return drift.removed.length === 0 ? drift : { ...drift, removed: [] };
}
