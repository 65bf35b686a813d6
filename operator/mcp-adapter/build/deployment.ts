import type { McpAdapter, McpAdapterSpec } from '../../../crds/v1alpha1/mcp-adapter.ts';
import type { KubernetesObject } from '../../kubernetes/kubernetes.ts';
import { DEPLOYMENTS } from '../../kubernetes/resources.ts';
import type { BuildContext } from './build-context.ts';
import type { EffectiveConfig } from '../config/effective-config.ts';
import { childMetadata, selectorOf } from '../config/labels.ts';
import { gracePeriodSeconds, podTemplate } from './pod-template.ts';
import { replicaRange } from '../config/replicas.ts';
import { isShared } from './storage-claim.ts';

/**
 * @param hash of the configuration: another one rolls the pods
 * @param labels of the Deployment beside the usual ones, not of its pods
 */
export function deployment(
  adapter: McpAdapter,
  config: EffectiveConfig,
  context: BuildContext,
  { hash, labels }: { readonly hash: string; readonly labels: Readonly<Record<string, string>> },
): KubernetesObject {
  const { spec, metadata } = adapter;
  return {
    apiVersion: DEPLOYMENTS.apiVersion,
    kind: DEPLOYMENTS.kind,
    metadata: childMetadata(adapter, metadata.name, { labels }),
    spec: {
      // An autoscaler sets the number itself; applying one here would fight it.
      ...(spec.autoscaling === undefined ? { replicas: spec.replicas ?? 1 } : {}),
      selector: { matchLabels: selectorOf(adapter) },
      strategy: canOverlap(spec, config, context.existingClaimModes)
        ? { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } }
        : { type: 'Recreate' },
      // While old pods take their time to stop before new ones start, nothing is stuck.
      progressDeadlineSeconds: Math.max(600, 300 + gracePeriodSeconds(config)),
      revisionHistoryLimit: 3,
      template: podTemplate(adapter, config, context, hash),
    },
  };
}

/**
 * Whether an old and a new pod may run at the same time. Sessions must be in Redis, or each has its own; and a claim for
 * one node would make a new pod elsewhere wait for the old one, which waits for the new one.
 */
function canOverlap(
  spec: McpAdapterSpec,
  { stateType }: EffectiveConfig,
  modes: readonly string[] | undefined,
): boolean {
  const shared = isShared(spec, modes) ?? replicaRange(spec).most > 1;
  return stateType === 'redis' && shared;
}
