import type { KubernetesObject } from '../../kubernetes/kubernetes.ts';
import { SERVICES } from '../../kubernetes/resources.ts';
import type { ShardPlan } from './plan.ts';
import { childMetadata } from './child-metadata.ts';
import { PORT_NAME } from '../group/defaults.ts';
import { shardSelector } from '../group/names.ts';

/** For health checks and the admin API; the scraper has no other clients. */
export function service(plan: ShardPlan): KubernetesObject {
  return {
    apiVersion: SERVICES.apiVersion,
    kind: SERVICES.kind,
    metadata: childMetadata(plan),
    spec: {
      type: 'ClusterIP',
      selector: shardSelector(plan.group, plan.shard),
      ports: [{ name: PORT_NAME, port: plan.effective.port, targetPort: PORT_NAME, protocol: 'TCP' }],
    },
  };
}
