import type { KubernetesObject } from '../kubernetes/kubernetes.ts';
import type { Namespaces } from './namespaces.ts';
import type { Key } from '../kubernetes/key.ts';
import { Reflector, type ReflectorOptions } from './reflector.ts';
import type { Change, Coverage, WatchedCache } from './watched-cache.ts';

export type ScopedReflectorOptions = Omit<ReflectorOptions, 'selection'> & {
  readonly namespaces: Namespaces;
  readonly labelSelector?: string;
};

/**
 * One resource in all namespaces that the operator looks after, as one cache: one reflector for all, or one for each.
 *
 * A namespace that leaves takes its objects out of the cache without a word: they are no longer ours to do anything
 * about, and a report that they went would look like a deletion.
 */
export class ScopedReflector implements WatchedCache {
  readonly synced: Promise<void>;
  readonly #options: ScopedReflectorOptions;
  readonly #handlers = new Set<(change: Change) => void>();
  /** By namespace; '' for all of them. */
  readonly #reflectors = new Map<string, Reflector>();
  readonly #leaving = new Set<Promise<void>>();
  readonly #setStarted: () => void;
  #unsubscribe = (): void => {};
  #started = false;

  constructor(options: ScopedReflectorOptions) {
    this.#options = options;
    const { promise: started, resolve } = Promise.withResolvers<void>();
    this.#setStarted = resolve;
    this.synced = started
      .then(() => options.namespaces.synced)
      .then(async () => {
        await Promise.all([...this.#reflectors.values()].map(({ synced }) => synced));
      });
  }

  start(): void {
    if (this.#started) return;
    this.#started = true;
    const { namespaces } = this.#options;
    this.#unsubscribe = namespaces.subscribe((namespace, here) => {
      if (here) this.#enter(namespace);
      else this.#leave(namespace);
    });
    for (const namespace of namespaces.all ? [''] : namespaces.names) this.#enter(namespace);
    this.#setStarted();
  }

  async stop(): Promise<void> {
    this.#unsubscribe();
    await Promise.all([...this.#reflectors.values()].map((reflector) => reflector.stop()));
    await Promise.all(this.#leaving);
  }

  get(key: Key): KubernetesObject | undefined {
    return this.#of(key.namespace)?.get(key);
  }

  list(namespace?: string): readonly KubernetesObject[] {
    if (namespace !== undefined) return this.#of(namespace)?.list(namespace) ?? [];
    return [...this.#reflectors.values()].flatMap((reflector) => reflector.list());
  }

  byLabel(label: string, namespace: string, value: string): readonly KubernetesObject[] {
    return this.#of(namespace)?.byLabel(label, namespace, value) ?? [];
  }

  coverage(namespace: string): Coverage {
    return this.#of(namespace)?.coverage(namespace) ?? 'outside';
  }

  subscribe(handler: (change: Change) => void): () => void {
    this.#handlers.add(handler);
    return () => this.#handlers.delete(handler);
  }

  #of(namespace: string): Reflector | undefined {
    return this.#reflectors.get(this.#options.namespaces.all ? '' : namespace);
  }

  #enter(namespace: string): void {
    if (this.#reflectors.has(namespace)) return;
    const { namespaces: _, labelSelector, ...options } = this.#options;
    const selection = { labelSelector, ...(namespace === '' ? {} : { namespace }) };
    const reflector = new Reflector({ ...options, selection });
    this.#reflectors.set(namespace, reflector);
    reflector.subscribe((change) => {
      if (this.#reflectors.get(namespace) !== reflector) return;
      for (const handler of this.#handlers) {
        try {
          handler(change);
        } catch (error) {
          options.onError(error, { watched: options.resource.plural });
        }
      }
    });
    reflector.start();
  }

  #leave(namespace: string): void {
    const reflector = this.#reflectors.get(namespace);
    if (reflector === undefined) return;
    this.#reflectors.delete(namespace);
    const stopped = reflector.stop();
    this.#leaving.add(stopped);
    void stopped.finally(() => this.#leaving.delete(stopped));
  }
}
