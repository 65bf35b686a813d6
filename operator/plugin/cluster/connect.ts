import type { KubeConfig } from '@kubernetes/client-node';

import { ApiClient } from '../../kubernetes/api-client.ts';
import { ApiTransport } from '../../kubernetes/api-transport.ts';
import { type Credentials, refreshed } from '../../kubernetes/credentials.ts';
import { connectionOf, MADE_UP, NOTHING_FOUND } from '../../kubernetes/kubeconfig-credentials.ts';
import { UnreachableError } from './failures.ts';

/** Which cluster, as whom, and where in it. */
export interface Where {
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  readonly namespace?: string | undefined;
}

/** The API server that a kubeconfig leads to: the one thing that the plugin asks. */
export interface Cluster extends AsyncDisposable {
  readonly api: ApiClient;
  /** For what is no object: logs, evictions. */
  readonly transport: ApiTransport;
  readonly credentials: Credentials;
  /** That of the command line, else of the context, else `default`. */
  readonly namespace: string;
}

/**
 * The cluster of a kubeconfig as kubectl would take it: the file given, else $KUBECONFIG, else ~/.kube/config, else the
 * ServiceAccount of the pod. Exec plugins, OIDC and the like as @kubernetes/client-node knows them. Nothing is asked yet.
 *
 * @throws UnreachableError when the kubeconfig cannot be used
 */
export async function connect({ kubeconfig, context, namespace }: Where, version: string): Promise<Cluster> {
  const { KubeConfig } = await import('@kubernetes/client-node');
  const load = (): KubeConfig => {
    const config = new KubeConfig();
    if (kubeconfig === undefined) config.loadFromDefault();
    else config.loadFromFile(kubeconfig);
    if (config.getCurrentContext() === MADE_UP) throw new Error(NOTHING_FOUND);
    if (context !== undefined) {
      if (config.getContextObject(context) === null) throw new Error(`it has no context ${context}`);
      config.setCurrentContext(context);
    }
    return config;
  };
  try {
    let config = load();
    const credentials = refreshed(
      (renew) => {
        if (renew) config = load();
        return connectionOf(config);
      },
      () => performance.now(),
    );
    await credentials.current();
    const own = config.getContextObject(config.getCurrentContext())?.namespace;
    const options = { credentials, userAgent: `kubectl-mcpadapter/${version}` };
    const [api, transport] = [new ApiClient(options), new ApiTransport(options)];
    return {
      api,
      transport,
      credentials,
      namespace: namespace ?? (own || 'default'),
      async [Symbol.asyncDispose]() {
        await Promise.all([api.close(), transport.close()]);
      },
    };
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new UnreachableError(`the kubeconfig cannot be used: ${why}`, { cause });
  }
}
