import type { KubernetesObject } from './kubernetes.ts';

/** One unit of reconciliation. For most controllers the resource of that name; `namespace/name` as text. */
export interface Key {
  readonly namespace: string;
  readonly name: string;
}

/** What a reconcile leaves behind. Waiting is a result, not an error. */
export interface Result {
  /** Reconcile the key again after so many milliseconds, also when nothing changes. */
  readonly requeueAfterMs?: number;
}

export const done: Result = {};

/** The earlier of two times, either of which may be none. */
export const earlier = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);

/** Trying again cannot help until something changes: it is logged, counted, and not retried. */
export class TerminalError extends Error {
  override readonly name = 'TerminalError';
}

/**
 * Brings the world of one key to what its resource says. Never runs twice at a time for the same key. Whatever it throws
 * (but a `TerminalError`) is logged and tried again with backoff. `signal` aborts when leadership is lost or the
 * operator stops.
 */
export type Reconcile = (key: Key, signal: AbortSignal) => Promise<Result>;

/** A read-only view of what a reflector holds; a read costs nothing and may be a moment old. */
export interface Cache {
  get(key: Key): KubernetesObject | undefined;
  /** Objects of one namespace, or all. */
  list(namespace?: string): readonly KubernetesObject[];
  /** Objects whose label has this value; indexed. Only labels named when the reflector was made. */
  byLabel(label: string, namespace: string, value: string): readonly KubernetesObject[];
}
