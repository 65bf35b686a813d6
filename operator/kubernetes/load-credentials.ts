import type { Credentials } from './credentials.ts';
import { inClusterCredentials } from './in-cluster-credentials.ts';

/**
 * `kubeconfig` when given, else $KUBECONFIG, else the pod's ServiceAccount, else ~/.kube/config.
 *
 * @throws when there is none of them, or the kubeconfig cannot be used
 */
export async function loadCredentials(
  env: Readonly<Record<string, string | undefined>>,
  kubeconfig?: string,
): Promise<Credentials> {
  const inCluster = kubeconfig === undefined && !env['KUBECONFIG'] ? await inClusterCredentials(env) : undefined;
  if (inCluster !== undefined) return inCluster;
  const { kubeconfigCredentials } = await import('./kubeconfig-credentials.ts');
  try {
    const credentials = await kubeconfigCredentials(kubeconfig);
    await credentials.current();
    return credentials;
  } catch (cause) {
    const file = kubeconfig ?? (env['KUBECONFIG'] || '~/.kube/config');
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`the kubeconfig ${file} cannot be used: ${why}`, { cause });
  }
}
