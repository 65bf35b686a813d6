/** Where a scraper keeps its file of SQLite. */
import type { KubernetesObject } from '../../kubernetes/kubernetes.ts';
import { claimSpec } from '../../pods/claim-spec.ts';
import { untracked } from '../../pods/untracked.ts';
import { listAt, textAt } from '../../kubernetes/unstructured.ts';
import { STORAGE_CLAIMS } from '../../kubernetes/resources.ts';
import { STATE } from '../group/defaults.ts';
import type { ShardPlan } from './plan.ts';
import { childMetadata } from './child-metadata.ts';
import { shardName } from '../group/names.ts';

/** That of `/tmp`. */
export const TMP = 'tmp';

type State = Pick<ShardPlan, 'group' | 'shard' | 'pod' | 'effective'>;

const claimName = ({ group, shard }: State): string => `${shardName(group, shard)}-state`;

/** `spec.storage.claim`, where there is a file to keep. */
const claimOf = ({ pod, effective }: State) => (effective.sharedState ? undefined : pod.storage?.claim);

/**
 * The claim of a shard. One that is retained has no owner: whoever deletes the sources and applies them again goes on
 * where they were.
 */
export function stateClaim(plan: ShardPlan): KubernetesObject | undefined {
  const claim = claimOf(plan);
  if (claim === undefined) return undefined;
  const annotations = untracked(claim.annotations ?? {});
  const owners = plan.pod.storage?.deletionPolicy === 'Delete' ? plan.owners : [];
  return {
    apiVersion: STORAGE_CLAIMS.apiVersion,
    kind: STORAGE_CLAIMS.kind,
    metadata: {
      ...childMetadata({ ...plan, owners }, claimName(plan)),
      ...(Object.keys(annotations).length > 0 ? { annotations } : {}),
    },
    spec: claimSpec(claim),
  };
}

export function stateVolume(plan: State): object {
  const source =
    claimOf(plan) === undefined ? { emptyDir: {} } : { persistentVolumeClaim: { claimName: claimName(plan) } };
  return { name: STATE, ...source };
}

/** Whether a new pod begins without the state of the one before it. */
export function stateIsTemporary(plan: State): boolean {
  const { pod, effective } = plan;
  if (effective.sharedState) return false;
  const volume = isInTmp(effective.stateFolder) ? TMP : STATE;
  const isReplaced = listAt(pod.podOverlay, 'spec', 'volumes').some((one) => textAt(one, 'name') === volume);
  return !isReplaced && (volume === TMP || claimOf(plan) === undefined);
}

export const isInTmp = (path: string): boolean => path === '/tmp' || path.startsWith('/tmp/');
