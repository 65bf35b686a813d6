import type { ApiError, KubernetesObject, Resource } from '../kubernetes/kubernetes.ts';
import type { Key } from '../kubernetes/key.ts';
import type { Ownership } from './ownership.ts';

export interface Existing {
  readonly resource: Resource;
  readonly object: KubernetesObject;
}

/** An object as it is to be, without owner references. */
export interface Desired extends Existing {
  /** Whether it gets the family's owner references, and so goes when they are gone. */
  readonly owned: boolean;
  /**
   * For an object that is too large to be held: all of it, read when it is written; `object` is then what stands for it,
   * another one for each content. Undefined: it cannot be had now.
   */
  readonly whole?: (signal: AbortSignal) => Promise<KubernetesObject | undefined>;
}

/** The objects that one key's reconcile makes. */
export interface Family {
  readonly key: Key;
  readonly ownership: Ownership;
  /** What exists with the family's labels, as the caches show it. The applier reads the others by name. */
  readonly existing: readonly Existing[];
}

/**
 * - `waiting`: it is being deleted, or changed during the write; a later attempt will do.
 * - `conflict`: an object of that name exists and belongs to somebody else. It was not touched.
 * - `refused`: the API server refuses it; the next attempt comes after a while, or when something changes.
 * - `contested`: somebody changes it again and again, and it is put back after a while.
 * - `blocked`: not tried, because one before it in the list could not be applied.
 */
export type Outcome =
  | 'created'
  | 'changed'
  | 'unchanged'
  | 'deleted'
  | 'waiting'
  | 'conflict'
  | 'refused'
  | 'contested'
  | 'blocked';

export interface Applied {
  readonly resource: Resource;
  readonly name: string;
  readonly outcome: Outcome;
  /** For people: why it was not applied. */
  readonly message?: string;
  /** As the API server gave it last. */
  readonly object?: KubernetesObject;
  /** For people: who changes it again and again; when it was put back, or waits for it. */
  readonly contest?: string;
  readonly retryAfterMs?: number;
}

export interface ApplyReport {
  readonly objects: readonly Applied[];
  /** Everything is as desired. */
  readonly settled: boolean;
  /** When to try again. */
  readonly requeueAfterMs?: number;
  /** To be thrown once the status shows it: trying again may help, but has not for a while. */
  readonly failure?: ApiError;
}

export const idOf = ({ resource, object }: Existing): string =>
  `${resource.apiVersion}/${resource.kind}/${object.metadata.namespace ?? ''}/${object.metadata.name}`;

export const nameOf = ({ resource, object }: Existing): Pick<Applied, 'resource' | 'name'> => ({
  resource,
  name: object.metadata.name,
});
