import type { KubernetesObject } from '../kubernetes/kubernetes.ts';
import type { Cache, Key } from '../kubernetes/reconciler.ts';

/** One object came (no `old`), changed, or went (no `new`). */
export interface Change {
  readonly key: Key;
  readonly old?: KubernetesObject;
  readonly new?: KubernetesObject;
}

/** `outside`: objects of this namespace are not watched. */
export type Coverage = 'synced' | 'syncing' | 'outside';

/** A cache that follows the API server. */
export interface WatchedCache extends Cache {
  /** Resolves when all that existed at the start is here. Never rejects; pending for ever when stopped before. */
  readonly synced: Promise<void>;
  /** Whether what the cache says of this namespace is complete. */
  coverage(namespace: string): Coverage;
  /** The handler is called after the cache has changed; it only enqueues keys. @returns the end of the subscription */
  subscribe(handler: (change: Change) => void): () => void;
}
