import { deadline } from '../kubernetes/deadline.ts';
import type { KubernetesObject } from '../kubernetes/kubernetes.ts';
import { type Key, keyText } from '../kubernetes/key.ts';
import { type Reconcile, TerminalError } from './reconciler.ts';
import type { Coverage, WatchedCache } from '../cache/watched-cache.ts';
import { WorkQueue } from './work-queue.ts';

/** `requeued`: it asked to be run again; `aborted`: the operator stopped meanwhile. */
export type Outcome = 'done' | 'requeued' | 'failed' | 'terminal' | 'aborted';

/** For metrics. `name` is the controller's. */
export interface ControllerHooks {
  reconciled(name: string, outcome: Outcome, ms: number): void;
  queueDepth(name: string, waiting: number): void;
}

export interface ControllerLog {
  warn(detail: object, message: string): void;
  error(detail: object, message: string): void;
}

/** A change of an object of this cache makes its keys due. */
export interface Source {
  readonly cache: WatchedCache;
  /** Whom an object concerns. It is asked for the object before and after each change. */
  readonly keys: (object: KubernetesObject) => readonly Key[];
}

export interface ControllerOptions {
  readonly name: string;
  readonly reconcile: Reconcile;
  readonly sources: readonly Source[];
  /** Whether the key still has something to look after; others are not looked at again by themselves. */
  readonly exists: (key: Key) => boolean;
  readonly log: ControllerLog;
  readonly hooks?: ControllerHooks;
  /** Default: 4. */
  readonly concurrency?: number;
  /** Every key is reconciled at least this often, give or take a fifth. Default: 10 min. */
  readonly resyncMs?: number;
  /** After so long a reconcile's signal aborts. Default: 2 min. */
  readonly timeoutMs?: number;
  /** How long `stop` lets reconciles finish before their signal aborts. Default: 10 s. */
  readonly drainMs?: number;
  readonly now?: () => number;
  readonly random?: () => number;
}

const RESYNC_MS = 10 * 60_000;
const TIMEOUT_MS = 2 * 60_000;
const DRAIN_MS = 10_000;
/** How often the caches are asked again for keys that wait for them to be complete. */
const SYNC_POLL_MS = 250;

/**
 * Sources → keys → queue → reconcile → requeue. A key waits until every source is complete for its namespace, so a
 * reconcile never takes what is not listed yet for missing; a namespace that cannot be read holds only itself up.
 */
export class Controller {
  readonly #options: ControllerOptions;
  readonly #queue: WorkQueue;
  readonly #now: () => number;
  readonly #random: () => number;
  readonly #ending = new AbortController();
  /** Keys whose caches are not complete. Outside the queue, where they would use up the rate of all others. */
  readonly #held = new Set<string>();
  #heldTimer: NodeJS.Timeout | undefined;
  #unsubscribe: readonly (() => void)[] = [];
  #stopped: Promise<void> | undefined;

  constructor(options: ControllerOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#random = options.random ?? Math.random;
    const { name, hooks, log } = options;
    this.#queue = new WorkQueue({
      work: (text) => this.#work(keyFrom(text)),
      concurrency: options.concurrency,
      now: options.now,
      random: options.random,
      onDepth: (waiting) => guarded(log, name, () => hooks?.queueDepth(name, waiting)),
    });
  }

  /** Begins with every key that the caches know. `signal` (leadership lost) aborts what is under way and stops. */
  start(signal?: AbortSignal): void {
    if (this.#stopped !== undefined || this.#unsubscribe.length > 0) return;
    this.#unsubscribe = this.#options.sources.map(({ cache, keys }) =>
      cache.subscribe((change) => {
        for (const object of [change.old, change.new]) if (object !== undefined) this.#enqueue(keys, object);
      }),
    );
    for (const { cache, keys } of this.#options.sources) for (const object of cache.list()) this.#enqueue(keys, object);
    if (signal === undefined) return;
    const abort = (): void => {
      this.#ending.abort(signal.reason);
      void this.stop();
    };
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true, signal: this.#ending.signal });
  }

  /** For what no source tells: `afterMs` from now, or at once. */
  enqueue(key: Key, afterMs = 0): void {
    this.#queue.addAfter(keyText(key), afterMs);
  }

  /** Begins no more reconciles; resolves when those under way have ended. */
  stop(): Promise<void> {
    this.#stopped ??= (async () => {
      for (const unsubscribe of this.#unsubscribe) unsubscribe();
      clearInterval(this.#heldTimer);
      const drain = setTimeout(
        () => this.#ending.abort(new Error('the operator stops')),
        this.#options.drainMs ?? DRAIN_MS,
      );
      await this.#queue.stop();
      clearTimeout(drain);
      this.#ending.abort(new Error('the operator stops'));
    })();
    return this.#stopped;
  }

  #enqueue(keys: Source['keys'], object: KubernetesObject): void {
    guarded(this.#options.log, this.#options.name, () => {
      for (const key of keys(object)) this.enqueue(key);
    });
  }

  async #work(key: Key): Promise<number | undefined> {
    const coverage = this.#coverage(key);
    if (coverage === 'syncing') this.#hold(keyText(key));
    if (coverage !== 'synced') return undefined;

    const { name, reconcile, log, hooks } = this.#options;
    const startedAt = this.#now();
    const end = (outcome: Outcome): void =>
      guarded(log, name, () => hooks?.reconciled(name, outcome, this.#now() - startedAt));
    using limit = deadline(this.#options.timeoutMs ?? TIMEOUT_MS, `reconcile of ${keyText(key)}`, this.#ending.signal);
    try {
      const { requeueAfterMs } = await reconcile(key, limit.signal);
      end(requeueAfterMs === undefined ? 'done' : 'requeued');
      return this.#next(key, requeueAfterMs);
    } catch (error) {
      const detail = { controller: name, namespace: key.namespace, name: key.name, err: error };
      if (this.#ending.signal.aborted) {
        end('aborted');
        return undefined;
      }
      if (error instanceof TerminalError) {
        log.error(detail, 'a reconcile failed; it is not tried again before something changes');
        end('terminal');
        return this.#next(key, undefined);
      }
      log.warn(detail, 'a reconcile failed; it is tried again');
      end('failed');
      throw error;
    }
  }

  #coverage(key: Key): Coverage {
    const coverages = this.#options.sources.map(({ cache }) => cache.coverage(key.namespace));
    if (coverages.includes('outside')) return 'outside';
    return coverages.includes('syncing') ? 'syncing' : 'synced';
  }

  #hold(text: string): void {
    if (this.#stopped !== undefined) return;
    this.#held.add(text);
    this.#heldTimer ??= setInterval(() => {
      for (const held of this.#held) {
        if (this.#coverage(keyFrom(held)) === 'syncing') continue;
        this.#held.delete(held);
        this.#queue.add(held);
      }
      if (this.#held.size > 0) return;
      clearInterval(this.#heldTimer);
      this.#heldTimer = undefined;
    }, SYNC_POLL_MS);
  }

  #next(key: Key, requeueAfterMs: number | undefined): number | undefined {
    if (!this.#options.exists(key)) return requeueAfterMs;
    const resync = (this.#options.resyncMs ?? RESYNC_MS) * (0.8 + 0.4 * this.#random());
    return Math.min(requeueAfterMs ?? Infinity, resync);
  }
}

function keyFrom(text: string): Key {
  const slash = text.indexOf('/');
  return { namespace: text.slice(0, slash), name: text.slice(slash + 1) };
}

/** What others gave us to call must not end a loop. */
function guarded(log: ControllerLog, name: string, call: () => void): void {
  try {
    call();
  } catch (error) {
    log.error({ controller: name, err: error }, 'a handler failed');
  }
}
