import { createHash } from 'node:crypto';
import type { KubernetesObject } from '../../kubernetes/kubernetes.ts';
import { CONFIG_MAPS } from '../../kubernetes/resources.ts';
import type { ShardPlan } from './plan.ts';
import { childMetadata } from './child-metadata.ts';
import { configMapName } from '../group/names.ts';

export const CONFIG_FILE = 'config.yaml';

/** The sources with references, whose values only the pods get. The pods follow its changes without a restart. */
export function configMap(plan: ShardPlan): KubernetesObject {
  return {
    apiVersion: CONFIG_MAPS.apiVersion,
    kind: CONFIG_MAPS.kind,
    metadata: childMetadata(plan, configMapName(plan.group, plan.shard)),
    data: { [CONFIG_FILE]: plan.file },
  };
}

/** What a pod shows as `config_hash` when it runs with this file. */
export const fileHash = (file: string): string => createHash('sha256').update(file).digest('hex').slice(0, 16);
