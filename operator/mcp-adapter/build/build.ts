/** Pure: the objects that a McpAdapter consists of. */
import type { McpAdapter } from '../../../crds/v1alpha1/mcp-adapter.ts';
import type { KubernetesObject, Resource } from '../../kubernetes/kubernetes.ts';
import {
  AUTOSCALERS,
  CONFIG_MAPS,
  DEPLOYMENTS,
  DISRUPTION_BUDGETS,
  HTTP_ROUTES,
  INGRESSES,
  NETWORK_POLICIES,
  SERVICE_ACCOUNTS,
  SERVICE_MONITORS,
  SERVICES,
  STORAGE_CLAIMS,
} from '../../kubernetes/resources.ts';
import { autoscaler } from './autoscaler.ts';
import type { BuildContext } from './build-context.ts';
import { configHash, configMap } from './config-map.ts';
import { deployment } from './deployment.ts';
import { disruptionBudget } from './disruption-budget.ts';
import { effectiveConfig } from '../config/effective-config.ts';
import { httpRoute } from './http-route.ts';
import { ingress } from './ingress.ts';
import { locked } from '../config/locked-config.ts';
import { metricsService } from './metrics-service.ts';
import { networkPolicy } from './network-policy.ts';
import { serviceAccount } from './service-account.ts';
import { serviceMonitor } from './service-monitor.ts';
import { service } from './service.ts';
import { settled } from '../config/settled-config.ts';
import { storageClaim } from './storage-claim.ts';

/** An object as it is to be applied, without its owner reference. */
export interface Child {
  readonly resource: Resource;
  readonly object: KubernetesObject;
  /** Whether it gets an owner reference and so goes with the McpAdapter. False for storage that is retained. */
  readonly owned: boolean;
}

/**
 * Every object of this McpAdapter, in the order in which they are applied. What is not in the list is not wanted.
 * The same arguments give the same list, to the byte.
 * @throws BudgetError when it takes longer than the budget of the context, if there is one
 */
export function build(given: McpAdapter, context: BuildContext): Child[] {
  const { adapter, labels } = settled(context.isLocked === true ? locked(given) : given, context.record);
  const { spec } = adapter;
  const { serves, budget } = context;
  budget?.step('spec.config');
  const config = effectiveConfig(spec);
  budget?.step('spec.config');
  const file = configMap(adapter, labels);
  budget?.step('spec');
  const children: readonly [Resource, KubernetesObject | undefined][] = [
    [SERVICE_ACCOUNTS, serviceAccount(adapter)],
    [CONFIG_MAPS, file],
    [STORAGE_CLAIMS, storageClaim(adapter, labels)],
    // Before the pods, so that none ever runs without it.
    [NETWORK_POLICIES, networkPolicy(adapter, config, context)],
    [SERVICES, service(adapter, config)],
    [SERVICES, metricsService(adapter, config)],
    [DEPLOYMENTS, deployment(adapter, config, context, { hash: configHash(file.data), labels })],
    [DISRUPTION_BUDGETS, disruptionBudget(adapter)],
    [AUTOSCALERS, autoscaler(adapter)],
    [INGRESSES, ingress(adapter)],
    [HTTP_ROUTES, serves.httpRoutes ? httpRoute(adapter, config) : undefined],
    [SERVICE_MONITORS, serves.serviceMonitors ? serviceMonitor(adapter, config) : undefined],
  ];
  return children.flatMap(([resource, object]) =>
    object === undefined
      ? []
      : [{ resource, object, owned: resource !== STORAGE_CLAIMS || spec.deletionPolicy === 'Delete' }],
  );
}
