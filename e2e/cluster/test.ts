import { test as base } from 'vitest';
import type { Cluster } from './cluster.ts';
import { clusterWithOperator, sharedCluster } from './shared-cluster.ts';
import { whyNoCluster } from './support.ts';

let bare: Promise<Cluster> | undefined;
let installed: Promise<Cluster> | undefined;

/**
 * A test on the shared cluster: `cluster` is without an operator until somebody installs one, `operated` has it. Where no
 * cluster can run, the test is skipped and says why.
 */
export const test = base.extend<{ cluster: Cluster; operated: Cluster }>({
  cluster: async ({ skip }, use) => {
    const reason = await whyNoCluster();
    if (reason !== undefined) skip(reason);
    await use(await (bare ??= sharedCluster()));
  },
  operated: async ({ skip }, use) => {
    const reason = await whyNoCluster();
    if (reason !== undefined) skip(reason);
    await use(await (installed ??= clusterWithOperator()));
  },
});
