import type { KubernetesObject, Resource } from '../kubernetes/kubernetes.ts';
import type { ApplyReport, Family, Outcome } from './desired.ts';
import { standing } from './ownership.ts';

/** The family's own object of this kind and name, as the caches show it. */
export function ownObject(
  { existing, ownership }: Pick<Family, 'existing' | 'ownership'>,
  resource: Resource,
  name: string,
): KubernetesObject | undefined {
  const found = existing.find((one) => one.resource === resource && one.object.metadata.name === name);
  return found !== undefined && standing(found.object, ownership) === 'ours' ? found.object : undefined;
}

/** The same as it is after applying. */
export function liveObject(
  family: Pick<Family, 'existing' | 'ownership'>,
  applied: ApplyReport | undefined,
  resource: Resource,
  name: string,
): KubernetesObject | undefined {
  const written = applied?.objects.find((one) => one.resource === resource && one.name === name);
  const isOurs = written?.outcome !== 'conflict' && written?.outcome !== 'blocked';
  return (isOurs ? written?.object : undefined) ?? ownObject(family, resource, name);
}

/** Messages of the objects with this outcome, as one text; undefined when there is none. */
export function messagesOf(applied: ApplyReport | undefined, outcome: Outcome): string | undefined {
  const found = (applied?.objects ?? []).filter((one) => one.outcome === outcome);
  return found.length === 0 ? undefined : found.map(({ message, name }) => message ?? name).join('; ');
}
