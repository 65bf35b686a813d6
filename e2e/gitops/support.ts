import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { CLUSTER_BIN } from '../cluster/kubectl.ts';
import { isInstalled } from '../cluster/support.ts';

/** One binary for all parts of Argo CD, its command line among them. */
export const ARGOCD = join(CLUSTER_BIN, 'argocd');

/** Why Argo CD cannot be used here, for `context.skip`; undefined when it can. */
export async function whyNoArgoCd(): Promise<string | undefined> {
  const isBuilt = await access(ARGOCD, constants.X_OK).then(
    () => true,
    () => false,
  );
  if (!isBuilt) return `argocd is not in ${CLUSTER_BIN}: run e2e/gitops/argocd/argocd build, which needs Go 1.26`;
  for (const program of ['git', 'redis-server']) {
    if (!(await isInstalled(program))) return `${program} is missing: apt-get install ${program}`;
  }
  return undefined;
}
