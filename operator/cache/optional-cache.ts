import { setTimeout as delay } from 'node:timers/promises';
import type { KubernetesApi, KubernetesObject, Resource } from '../kubernetes/kubernetes.ts';
import type { Key } from '../kubernetes/key.ts';
import type { ScopedReflector } from './scoped-reflector.ts';
import type { Change, Coverage, WatchedCache } from './watched-cache.ts';

/** How often it is asked whether the API exists now. */
const ASK_MS = 60_000;

/**
 * A resource whose API may be installed later, or never, such as HTTPRoute: it is watched while it is served, and empty
 * otherwise. It never holds anybody up: what it does not show yet comes as a change.
 */
export class OptionalCache implements WatchedCache {
  readonly synced = Promise.resolve();
  readonly #api: Pick<KubernetesApi, 'serves'>;
  readonly #resource: Resource;
  readonly #reflector: () => ScopedReflector;
  readonly #onError: (error: unknown) => void;
  readonly #handlers = new Set<(change: Change) => void>();
  readonly #stopping = new AbortController();
  #current: ScopedReflector | undefined;
  #done: Promise<void> | undefined;

  constructor(options: {
    api: Pick<KubernetesApi, 'serves'>;
    resource: Resource;
    /** A new one, not started. */
    reflector: () => ScopedReflector;
    onError: (error: unknown) => void;
  }) {
    this.#api = options.api;
    this.#resource = options.resource;
    this.#reflector = options.reflector;
    this.#onError = options.onError;
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

  coverage(): Coverage {
    return 'synced';
  }

  subscribe(handler: (change: Change) => void): () => void {
    this.#handlers.add(handler);
    return () => this.#handlers.delete(handler);
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        const served = await this.#api.serves(this.#resource, signal);
        if (served && this.#current === undefined) this.#enter();
        if (!served) await this.#leave();
      } catch (error) {
        if (!signal.aborted) this.#onError(error);
      }
      await delay(ASK_MS, undefined, { signal }).catch(() => {});
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
