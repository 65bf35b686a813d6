import type { Credentials } from './credentials.ts';
import { inClusterCredentials } from './in-cluster-credentials.ts';

/**
 * `kubeconfig` when given, else $KUBECONFIG, else the pod's ServiceAccount, else ~/.kube/config.
 *
 * @throws when there is none of them
 */
export async function loadCredentials(
  env: Readonly<Record<string, string | undefined>>,
  kubeconfig?: string,
): Promise<Credentials> {
  const inCluster = kubeconfig === undefined && !env['KUBECONFIG'] ? await inClusterCredentials(env) : undefined;
  if (inCluster !== undefined) return inCluster;
  const { kubeconfigCredentials } = await import('./kubeconfig-credentials.ts');
  return kubeconfigCredentials(kubeconfig);
}
