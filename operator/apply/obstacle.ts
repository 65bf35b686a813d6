import type { KubernetesObject } from '../kubernetes/kubernetes.ts';
import { type Applied, type Desired, nameOf } from './desired.ts';
import { type Ownership, standing } from './ownership.ts';

/** Why an object cannot be applied over the live one; undefined when it can. */
export function obstacleTo(
  desired: Desired,
  live: KubernetesObject | undefined,
  ownership: Ownership,
): Applied | undefined {
  if (live === undefined) return undefined;
  const named = { ...nameOf(desired), object: live };
  const name = `${desired.resource.kind} ${desired.object.metadata.name}`;
  switch (standing(live, ownership)) {
    case 'foreign':
      return { ...named, outcome: 'conflict', message: `${name} exists already and was made by someone else` };
    case 'predecessor':
      return {
        ...named,
        outcome: 'waiting',
        message: `${name} of the resource that had this name before is still there`,
      };
    default:
      if (live.metadata.deletionTimestamp === undefined) return undefined;
      return { ...named, outcome: 'waiting', message: `${name} is being deleted` };
  }
}
