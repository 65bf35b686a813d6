import { hash } from 'node:crypto';

import { LRUCache } from 'lru-cache';

import { type Baseline, baselineOf } from '../catalog/baseline.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { type Drift, driftBetween } from '../catalog/drift.ts';
import { type ToolView, toolView } from '../catalog/tool-view.ts';

const MAX_VIEWS = 64;
const MAX_CHARS = 64 << 20;
/** Baselines that one list is compared with: those of sessions of before its upstream's last changes. */
const MAX_DRIFTS = 64;

/** A list of an upstream, prepared once for all sessions that get it. */
export class PreparedList {
  /** By which it is known. */
  readonly key: string;
  readonly view: ToolView;
  /** The definitions as a client sees them to whom nothing is to be said about changes. */
  readonly shown: readonly string[];
  readonly #drifts = new LRUCache<string, { readonly drift: Drift | undefined }>({ max: MAX_DRIFTS });
  #baseline: Baseline | undefined;

  constructor(key: string, view: ToolView) {
    this.key = key;
    this.view = view;
    this.shown = view.tools.map(({ shown }) => shown);
  }

  /** What a session is pinned to that sees this list first. */
  get baseline(): Baseline {
    return (this.#baseline ??= baselineOf(this.view.tools.map(({ definition }) => definition)));
  }

  /** What has changed since a session saw its tools first. */
  driftFrom(pinned: Baseline): Drift | undefined {
    const { fingerprint } = pinned;
    if (fingerprint === this.baseline.fingerprint) return undefined;
    let known = this.#drifts.get(fingerprint);
    if (known === undefined) {
      known = { drift: driftBetween(pinned, this.baseline) };
      this.#drifts.set(fingerprint, known);
    }
    return known.drift;
  }
}

/** Prepared lists by what stands in them: upstreams say the same to all sessions, again and again. */
export class ToolViews {
  readonly #catalog: Catalog;
  readonly #lists = new LRUCache<string, PreparedList>({
    max: MAX_VIEWS,
    maxSize: MAX_CHARS,
    sizeCalculation: ({ view }) => view.result.length + 1,
  });

  constructor(catalog: Catalog) {
    this.#catalog = catalog;
  }

  /** One that was prepared before, if it is still here. */
  known(key: string): PreparedList | undefined {
    return this.#lists.get(key);
  }

  /** @param result JSON text of a tools/list result */
  of(result: string): PreparedList {
    const key = hash('sha256', result, 'base64');
    let list = this.#lists.get(key);
    if (list === undefined) {
      list = new PreparedList(key, toolView(result, this.#catalog));
      this.#lists.set(key, list);
    }
    return list;
  }
}
