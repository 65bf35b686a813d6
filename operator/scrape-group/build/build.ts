import type { Desired } from '../../apply/desired.ts';
import type { KubernetesObject, Resource } from '../../kubernetes/kubernetes.ts';
import {
  CONFIG_MAPS,
  DEPLOYMENTS,
  DISRUPTION_BUDGETS,
  NETWORK_POLICIES,
  SERVICE_ACCOUNTS,
  SERVICES,
  STORAGE_CLAIMS,
} from '../../kubernetes/resources.ts';
import type { BuildContext } from './build-context.ts';
import { configMap } from './config-map.ts';
import { deployment } from './deployment.ts';
import { disruptionBudget } from './disruption-budget.ts';
import { networkPolicy } from './network-policy.ts';
import type { ShardPlan } from './plan.ts';
import { serviceAccount } from './service-account.ts';
import { service } from './service.ts';
import { stateClaim } from './state-volume.ts';

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
