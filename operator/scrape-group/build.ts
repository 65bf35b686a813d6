import type { Desired } from '../runtime/apply.ts';
import type { KubernetesObject, OwnerReference, Resource } from '../runtime/kubernetes.ts';
import {
  CONFIG_MAPS,
  DEPLOYMENTS,
  DISRUPTION_BUDGETS,
  NETWORK_POLICIES,
  SERVICE_ACCOUNTS,
  SERVICES,
  STORAGE_CLAIMS,
} from '../runtime/resources.ts';
import { configMap } from './config-map.ts';
import { deployment } from './deployment.ts';
import { disruptionBudget } from './disruption-budget.ts';
import { DEFAULT_PORT, type EffectiveSettings, effectiveSettings } from './effective-settings.ts';
import type { Group } from './group.ts';
import { networkPolicy } from './network-policy.ts';
import type { Member } from './prepare.ts';
import { renderFile } from './scraper-file.ts';
import { serviceAccount } from './service-account.ts';
import { service } from './service.ts';
import { podFields, scraperSection } from './settings.ts';
import { shardsOf } from './shards.ts';
import { stateClaim } from './state-volume.ts';

/** What build needs beside the group. */
export interface BuildContext {
  readonly namespace: string;
  /** Name of the group. */
  readonly name: string;
  /** All resources of the group, also those that do not run. */
  readonly owners: readonly OwnerReference[];
  /** Image of the operator, used when no source names one. */
  readonly image: string;
  /** `openshift`: no fixed ids, because the platform assigns them. */
  readonly podSecurity: 'restricted' | 'openshift';
  /** Services that URLs name, by namespace and name; undefined when unknown or unreadable. */
  readonly services: (namespace: string, name: string) => KubernetesObject | undefined;
  /** Whether the operator has no right to read this one. */
  readonly unreadable?: (namespace: string, name: string) => boolean;
  /** Number of shards that exist. */
  readonly shards: number;
  /** Annotation mcpadapter.io/references-revision to use in a shard. */
  readonly referencesRevision: (shard: number) => string | undefined;
}

/** One shard: everything that its objects are made of. */
export interface ShardPlan {
  readonly group: string;
  readonly namespace: string;
  /** Counted from 1. */
  readonly shard: number;
  readonly members: readonly Member[];
  /** Section `scraper` of the file. */
  readonly scraper: Readonly<Record<string, unknown>>;
  readonly file: string;
  readonly replicas: number;
  readonly pod: ReturnType<typeof podFields>;
  readonly restartedAt: string | undefined;
  readonly owners: readonly OwnerReference[];
  /** What of `scraper` and the members is known. */
  readonly effective: EffectiveSettings;
}

/** How the sources of a group are spread over shards, and what the shards run. Of a group without members: none. */
export function plan(
  group: Group,
  context: Pick<BuildContext, 'namespace' | 'name' | 'owners' | 'shards'>,
): ShardPlan[] {
  if (group.members.length === 0) return [];
  const pod = podFields(group.settings);
  // Written out, because pods without rights may not open the scraper's own default, 80.
  const scraper = { servicePort: DEFAULT_PORT, ...scraperSection(group.settings) };
  const shards = shardsOf(group.members, context.shards);
  const shardOf = new Map(shards.flatMap((shard, index) => shard.map(({ resource }) => [resource, index] as const)));
  return shards.map((shard, index) => ({
    group: context.name,
    namespace: context.namespace,
    shard: index + 1,
    members: shard,
    scraper,
    file: renderFile(
      scraper,
      shard.map(({ text }) => text),
    ),
    replicas: Math.ceil((pod.replicas ?? 1) / shards.length),
    pod,
    restartedAt: group.restartedAt,
    effective: effectiveSettings({ scraper, members: shard }),
    owners: context.owners.filter(({ name }) => (shardOf.get(name) ?? 0) === index),
  }));
}

/**
 * Every object of a group, in the order in which they are applied. What is not in the list is not wanted. The same
 * arguments give the same list, to the byte.
 */
export function build(plans: readonly ShardPlan[], context: BuildContext): Desired[] {
  return plans.flatMap((one) => {
    const children: readonly [Resource, KubernetesObject | undefined][] = [
      [SERVICE_ACCOUNTS, serviceAccount(one)],
      [CONFIG_MAPS, configMap(one)],
      [STORAGE_CLAIMS, stateClaim(one)],
      // Before the pods, so that none ever runs without it.
      [NETWORK_POLICIES, networkPolicy(one, context)],
      [SERVICES, service(one)],
      [DEPLOYMENTS, deployment(one, context)],
      [DISRUPTION_BUDGETS, disruptionBudget(one)],
    ];
    // Each object names its own owners, the sources of its shard.
    return children.flatMap(([resource, object]) => (object === undefined ? [] : [{ resource, object, owned: false }]));
  });
}
