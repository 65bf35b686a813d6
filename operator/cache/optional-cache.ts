import { setTimeout as delay } from 'node:timers/promises';
import type { KubernetesApi, KubernetesObject, Resource } from '../kubernetes/kubernetes.ts';
import type { Key } from '../kubernetes/key.ts';
import type { ScopedReflector } from './scoped-reflector.ts';
import type { Change, Coverage, WatchedCache } from './watched-cache.ts';

/** How often it is asked whether the API exists now. */
const ASK_MS = 60_000;
/** Until it is asked a second time; longer than the client keeps such an answer. */
const CONFIRM_MS = 12_000;

/**
 * A resource whose API may be installed later, or never, such as HTTPRoute: it is watched while it is served, and empty
 * otherwise. It holds nobody up: what it does not show yet comes as a change.
 *
 * With `isAwaited` it does: nobody takes for missing what is not listed yet. That the API is not served counts when it was
 * answered twice, because an API server that has just started does not know all its definitions; and what was listed once
 * stays.
 */
export class OptionalCache implements WatchedCache {
  readonly synced = Promise.resolve();
  readonly #api: Pick<KubernetesApi, 'serves'>;
  readonly #resource: Resource;
  readonly #reflector: () => ScopedReflector;
  readonly #onError: (error: unknown) => void;
  readonly #isAwaited: boolean;
  readonly #confirmMs: number;
  readonly #handlers = new Set<(change: Change) => void>();
  readonly #stopping = new AbortController();
  #current: ScopedReflector | undefined;
  /** How often in a row it was not served. */
  #absent = 0;
  #done: Promise<void> | undefined;

  constructor(options: {
    api: Pick<KubernetesApi, 'serves'>;
    resource: Resource;
    /** A new one, not started. */
    reflector: () => ScopedReflector;
    onError: (error: unknown) => void;
    isAwaited?: boolean;
    confirmMs?: number;
  }) {
    this.#api = options.api;
    this.#resource = options.resource;
    this.#reflector = options.reflector;
    this.#onError = options.onError;
    this.#isAwaited = options.isAwaited ?? false;
    this.#confirmMs = options.confirmMs ?? CONFIRM_MS;
  }

  start(): void {
    this.#done ??= this.#run(this.#stopping.signal);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#done;
    await this.#leave();
  }

  get(key: Key): KubernetesObject | undefined {
    return this.#current?.get(key);
  }

  list(namespace?: string): readonly KubernetesObject[] {
    return this.#current?.list(namespace) ?? [];
  }

  byLabel(label: string, namespace: string, value: string): readonly KubernetesObject[] {
    return this.#current?.byLabel(label, namespace, value) ?? [];
  }

  coverage(namespace: string): Coverage {
    if (!this.#isAwaited) return 'synced';
    return this.#current?.coverage(namespace) ?? (this.#absent > 1 ? 'synced' : 'syncing');
  }

  subscribe(handler: (change: Change) => void): () => void {
    this.#handlers.add(handler);
    return () => this.#handlers.delete(handler);
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        const served = await this.#api.serves(this.#resource, signal);
        this.#absent = served ? 0 : this.#absent + 1;
        if (served && this.#current === undefined) this.#enter();
        if (!served && !this.#isAwaited) await this.#leave();
      } catch (error) {
        if (!signal.aborted) this.#onError(error);
      }
      const isOpen = this.#isAwaited && this.#current === undefined && this.#absent < 2;
      await delay(isOpen ? this.#confirmMs : ASK_MS, undefined, { signal }).catch(() => {});
    }
  }

  #enter(): void {
    const reflector = this.#reflector();
    reflector.subscribe((change) => {
      for (const handler of this.#handlers) handler(change);
    });
    reflector.start();
    this.#current = reflector;
  }

  async #leave(): Promise<void> {
    const reflector = this.#current;
    this.#current = undefined;
    await reflector?.stop();
  }
}
