import { deadline } from '../kubernetes/deadline.ts';
import {
  ApiError,
  type KubernetesApi,
  type KubernetesObject,
  type Resource,
  type Selection,
} from '../kubernetes/kubernetes.ts';
import { keyOf } from '../kubernetes/key.ts';
import { ObjectStore } from './object-store.ts';
import { pause } from '../../lib/pause.ts';
import type { Key } from '../kubernetes/key.ts';
import { MalformedEventError } from '../kubernetes/watch-stream.ts';
import type { Change, Coverage, WatchedCache } from './watched-cache.ts';
import { withoutManagedFields } from '../kubernetes/without-fields.ts';

export interface ReflectorTiming {
  /** How long the API server keeps a watch open, give or take 5 s. */
  readonly watchSeconds: number;
  /** A watch that says nothing for so long, not even a bookmark, is taken for dead. */
  readonly idleMs: number;
  /** All is listed again after so long, give or take a tenth, at the end of the watch that is open then. */
  readonly relistMs: number;
  /** The pause after the first failure; it doubles up to the longest. */
  readonly firstBackoffMs: number;
  readonly maxBackoffMs: number;
}

/** For metrics: a list succeeded; a watch opened, expired (410), broke a line, fell silent; something failed. */
export type ReflectorCount = 'list' | 'watch' | 'expired' | 'malformed' | 'silent' | 'failed';

export interface ReflectorOptions {
  readonly api: Pick<KubernetesApi, 'list' | 'watch'>;
  readonly resource: Resource;
  readonly selection: Selection;
  /** Labels to index, for `byLabel`. */
  readonly labels?: readonly string[];
  /** What of an object is kept. Default: all but `managedFields`, which are often most of it. */
  readonly transform?: (object: KubernetesObject) => KubernetesObject;
  /** What failed; `retryInMs` is absent when a handler did. */
  readonly onError: (error: unknown, where: { readonly watched: string; readonly retryInMs?: number }) => void;
  readonly count?: (what: ReflectorCount) => void;
  readonly timing?: Partial<ReflectorTiming>;
  readonly now?: () => number;
  readonly random?: () => number;
}

const TIMING: ReflectorTiming = {
  // Load balancers commonly cut after 300 s.
  watchSeconds: 290,
  // The API server sends a bookmark about every minute.
  idleMs: 90_000,
  relistMs: 30 * 60_000,
  firstBackoffMs: 500,
  // An operator should not stay blind for long after an API server that was away is back.
  maxBackoffMs: 8_000,
};
/** A server that does not end a watch in time is helped. */
const OVERTIME_MS = 30_000;
/** A watch that ends within this time without a word is a failure, or a broken proxy would make us spin. */
const SHORT_WATCH_MS = 1_000;

export class SilentWatchError extends Error {
  override readonly name = 'SilentWatchError';
}

/**
 * Keeps a cache of the selected objects equal to the API server's, for as long as it runs:
 *
 * ```
 * list ──▶ watch ──ended in time, fell silent, broke──▶ watch from where it was
 *   ▲        │
 *   └────────┴─ 410, a line that is no event, an error event, half an hour
 * ```
 *
 * What changed while nobody looked is found by comparing the list with the cache, so no change is missed, deletions
 * included; only states in between are.
 */
export class Reflector implements WatchedCache {
  readonly synced: Promise<void>;
  readonly #options: ReflectorOptions;
  readonly #timing: ReflectorTiming;
  readonly #now: () => number;
  readonly #random: () => number;
  readonly #store: ObjectStore;
  readonly #handlers = new Set<(change: Change) => void>();
  readonly #watched: string;
  readonly #stopping = new AbortController();
  readonly #setSynced: () => void;
  #hasSynced = false;
  /** Where the next watch begins; undefined: with a list. */
  #resourceVersion: string | undefined;
  #relistAt = 0;
  #failures = 0;
  #done: Promise<void> | undefined;

  constructor(options: ReflectorOptions) {
    this.#options = options;
    this.#timing = { ...TIMING, ...options.timing };
    this.#now = options.now ?? (() => performance.now());
    this.#random = options.random ?? Math.random;
    this.#store = new ObjectStore(options.labels);
    const { namespace } = options.selection;
    this.#watched = options.resource.plural + (namespace === undefined ? '' : ` in ${namespace}`);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.synced = promise;
    this.#setSynced = resolve;
  }

  start(): void {
    this.#done ??= this.#run(this.#stopping.signal);
  }

  /** Resolves when nothing is under way any more. The cache stays as it was. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#done;
  }

  get(key: Key): KubernetesObject | undefined {
    return this.#store.get(key);
  }

  list(namespace?: string): readonly KubernetesObject[] {
    return this.#store.list(namespace);
  }

  byLabel(label: string, namespace: string, value: string): readonly KubernetesObject[] {
    return this.#store.byLabel(label, namespace, value);
  }

  coverage(namespace: string): Coverage {
    const only = this.#options.selection.namespace;
    if (only !== undefined && only !== namespace) return 'outside';
    return this.#hasSynced ? 'synced' : 'syncing';
  }

  subscribe(handler: (change: Change) => void): () => void {
    this.#handlers.add(handler);
    return () => this.#handlers.delete(handler);
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      let retryInMs = 0;
      try {
        if (this.#resourceVersion === undefined || this.#now() >= this.#relistAt) await this.#list(signal);
        await this.#watch(signal);
      } catch (error) {
        if (signal.aborted) return;
        retryInMs = this.#failed(error);
      }
      if (retryInMs > 0) await pause(retryInMs, signal);
    }
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { api, resource, selection } = this.#options;
    const list = await api.list(resource, selection, signal, (object) => this.#kept(object));
    signal.throwIfAborted();
    const changes = this.#store.replace(list.items);
    this.#resourceVersion = list.resourceVersion;
    this.#relistAt = this.#now() + this.#timing.relistMs * (0.9 + 0.2 * this.#random());
    this.#count('list');
    this.#hasSynced = true;
    for (const change of changes) this.#report(change);
    this.#setSynced();
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const { api, resource, selection } = this.#options;
    const { watchSeconds, idleMs } = this.#timing;
    const timeoutSeconds = Math.max(
      1,
      Math.round(watchSeconds + Math.min(watchSeconds / 4, 5) * (2 * this.#random() - 1)),
    );
    using limit = deadline(timeoutSeconds * 1000 + OVERTIME_MS, `the watch of ${this.#watched}`, signal);
    const silent = (): void => limit.abort(new SilentWatchError(`the watch was silent for ${idleMs} ms`));
    const watchdog = setTimeout(silent, idleMs);
    const startedAt = this.#now();
    let events = 0;
    this.#count('watch');
    try {
      const where = { ...selection, resourceVersion: this.#resourceVersion ?? '', timeoutSeconds };
      for await (const event of api.watch(resource, where, limit.signal)) {
        watchdog.refresh();
        if (event.type === 'ERROR') {
          throw new ApiError(event.code, event.code === 410 ? 'Expired' : 'WatchError', event.message);
        }
        events++;
        this.#failures = 0;
        const version = event.object.metadata.resourceVersion;
        let change: Change | undefined;
        if (event.type === 'DELETED') change = this.#store.remove(keyOf(event.object));
        else if (event.type !== 'BOOKMARK') change = this.#store.set(this.#kept(event.object));
        if (version !== undefined) this.#resourceVersion = version;
        if (change !== undefined) this.#report(change);
      }
    } catch (error) {
      // Undici tells that it was aborted, not why.
      throw limit.signal.aborted ? limit.signal.reason : error;
    } finally {
      clearTimeout(watchdog);
    }
    if (this.#now() - startedAt >= SHORT_WATCH_MS) this.#failures = 0;
    else if (events === 0 && !signal.aborted) throw new Error('the watch ended as soon as it had begun');
  }

  /** @returns the pause before the next turn, in milliseconds */
  #failed(error: unknown): number {
    this.#failures++;
    const expired = error instanceof ApiError && error.code === 410;
    const lost = error instanceof MalformedEventError || (error instanceof ApiError && error.reason === 'WatchError');
    if (expired || lost) this.#resourceVersion = undefined;
    if (expired) this.#count('expired');
    else if (error instanceof MalformedEventError) this.#count('malformed');
    else this.#count(error instanceof SilentWatchError ? 'silent' : 'failed');

    const { firstBackoffMs, maxBackoffMs } = this.#timing;
    const backoff = Math.min(firstBackoffMs * 2 ** (this.#failures - 1), maxBackoffMs) * (0.5 + 0.5 * this.#random());
    // Expected after the API server was away for long.
    const retryInMs = expired && this.#failures === 1 ? 0 : backoff;
    this.#options.onError(error, { watched: this.#watched, retryInMs });
    return retryInMs;
  }

  #report(change: Change): void {
    for (const handler of this.#handlers) {
      try {
        handler(change);
      } catch (error) {
        this.#options.onError(error, { watched: this.#watched });
      }
    }
  }

  #kept(object: KubernetesObject): KubernetesObject {
    return (this.#options.transform ?? withoutManagedFields)(object);
  }

  #count(what: ReflectorCount): void {
    this.#options.count?.(what);
  }
}
