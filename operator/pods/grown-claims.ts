import { valueAt } from '../../lib/json/tree.ts';
import type { Desired, Existing } from '../apply/desired.ts';
import { STORAGE_CLAIMS } from '../kubernetes/resources.ts';

const SIZE = ['spec', 'resources', 'requests', 'storage'] as const;

/**
 * The objects with each claim at least as large as it is: somebody may have expanded it, or an earlier resource may have
 * left a larger one behind, and the API server refuses to make it smaller.
 */
export function withGrownClaims(desired: readonly Desired[], existing: readonly Existing[]): Desired[] {
  return desired.map((one) => {
    if (one.resource !== STORAGE_CLAIMS) return one;
    const live = existing.find(
      ({ resource, object }) => resource === STORAGE_CLAIMS && object.metadata.name === one.object.metadata.name,
    );
    const storage = valueAt(live?.object, SIZE);
    if (!(bytesOf(storage) > bytesOf(valueAt(one.object, SIZE)))) return one;
    const spec = { ...(one.object['spec'] as object), resources: { requests: { storage } } };
    return { ...one, object: { ...one.object, spec } };
  });
}

const POWERS = ['', 'k', 'M', 'G', 'T', 'P', 'E'];

/** NaN for what is no quantity. Source: Kubernetes, "Quantity". */
export function bytesOf(quantity: unknown): number {
  const [, number = '', prefix = '', binary] =
    /^([0-9.]+(?:[eE][0-9]+)?)([kKMGTPE]?)(i?)$/.exec(String(quantity)) ?? [];
  const power = POWERS.indexOf(prefix.replace('K', 'k'));
  return number === '' ? NaN : Number(number) * (binary === 'i' ? 1024 : 1000) ** power;
}
