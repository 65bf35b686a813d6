import { LRUCache } from 'lru-cache';

import type { Access } from '../../access/access.ts';
import { callOf } from '../../access/wishes.ts';
import type { Drift } from '../../catalog/drift.ts';
import type { ToolView } from '../../catalog/tool-view.ts';

type Shown = readonly (string | undefined)[];

/** Of one list; more see it seldom, and then it is worked out again. */
const MAX_ACCESSES = 64;

/** Definitions as callers may see them. All who may do the same get the same array, by which others know their indexes. */
export class AccessViews {
  readonly #known = new WeakMap<Shown, LRUCache<string, Shown>>();

  /** The definitions of a view's tools in their order, undefined for one that the caller must not see. */
  of({ tools }: ToolView, shown: Shown, access: Access | undefined): Shown {
    if (access === undefined) return shown;
    let known = this.#known.get(shown);
    if (known === undefined) this.#known.set(shown, (known = new LRUCache({ max: MAX_ACCESSES })));
    let own = known.get(access.key);
    if (own === undefined) {
      own = shown.map((text, i) => (access.shows(callOf(tools[i]?.name ?? '')) ? text : undefined));
      // Nothing is hidden from them.
      if (own.every((text, i) => text === shown[i])) own = shown;
      known.set(access.key, own);
    }
    return own;
  }
}

/** What of a drift a caller may hear of; undefined where that is nothing. */
export function visibleDrift(drift: Drift | undefined, access: Access | undefined): Drift | undefined {
  if (drift === undefined || access === undefined) return drift;
  const shows = (name: string): boolean => access.shows(callOf(name));
  const changed = drift.changed.filter(({ name }) => shows(name));
  const [added, removed] = [drift.added.filter(shows), drift.removed.filter(shows)];
  return changed.length + added.length + removed.length === 0 ? undefined : { changed, added, removed };
}
