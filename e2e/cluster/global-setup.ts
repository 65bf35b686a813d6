import { Cluster } from './cluster.ts';
import { OPERATOR } from './shared-cluster.ts';
import { IS_OWN, SHARED_DIR, whyNoCluster } from './support.ts';

/** Before and after the suite: no cluster of an earlier run, and none that stays. The first test starts it. */
export async function setup(): Promise<(() => Promise<void>) | undefined> {
  if (!IS_OWN || (await whyNoCluster()) !== undefined) return undefined;
  const shared = new Cluster(SHARED_DIR);
  await shared.down();
  return async () => {
    await shared.searchLogs(`app.kubernetes.io/name=${OPERATOR}`, OPERATOR);
    await shared.down();
  };
}
