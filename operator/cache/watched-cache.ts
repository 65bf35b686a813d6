import type { KubernetesObject } from '../kubernetes/kubernetes.ts';
import type { Key } from '../kubernetes/key.ts';

/** A read-only view of what a reflector holds; a read costs nothing and may be a moment old. */
export interface Cache {
  get(key: Key): KubernetesObject | undefined;
  /** Objects of one namespace, or all. */
  list(namespace?: string): readonly KubernetesObject[];
  /** Objects whose label has this value; indexed. Only labels named when the reflector was made. */
  byLabel(label: string, namespace: string, value: string): readonly KubernetesObject[];
}

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
