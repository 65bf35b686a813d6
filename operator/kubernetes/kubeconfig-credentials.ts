import type { RequestOptions } from 'node:https';

import type { KubeConfig } from '@kubernetes/client-node';

import { type Connection, type Credentials, refreshed } from './credentials.ts';
import { plainConnection } from './plain-kubeconfig.ts';

/** Context that the library makes up where it finds nothing, for an API server at http://localhost:8080. */
export const MADE_UP = 'loaded-context';
export const NOTHING_FOUND = 'it does not exist, $KUBECONFIG is unset, and this is no pod; give --kubeconfig FILE';

/**
 * The current context of a kubeconfig: `file`, or what kubectl would take ($KUBECONFIG, ~/.kube/config). Exec plugins,
 * OIDC and the like as @kubernetes/client-node knows them. It costs 85 MB of resident memory, so it is loaded only here,
 * and not for a token or a certificate in `file`.
 */
export async function kubeconfigCredentials(file?: string, now = () => performance.now()): Promise<Credentials> {
  if (file === undefined || (await plainConnection(file)) === undefined) return libraryCredentials(file, now);
  return refreshed(async () => (await plainConnection(file)) ?? (await libraryCredentials(file, now)).current(), now);
}

async function libraryCredentials(file: string | undefined, now: () => number): Promise<Credentials> {
  const { KubeConfig } = await import('@kubernetes/client-node');
  const load = (): KubeConfig => {
    const config = new KubeConfig();
    if (file === undefined) config.loadFromDefault();
    else config.loadFromFile(file);
    if (config.getCurrentContext() === MADE_UP) throw new Error(NOTHING_FOUND);
    return config;
  };
  let config = load();
  return refreshed((renew) => {
    // Exec plugins' credentials without an expiry are kept in it until the API server refuses them.
    if (renew) config = load();
    return connectionOf(config);
  }, now);
}

/** How the current context of a kubeconfig leads to its API server, with the credentials that it names. */
export async function connectionOf(config: KubeConfig): Promise<Connection> {
  const cluster = config.getCurrentCluster();
  if (cluster === null) throw new Error('the kubeconfig has no current context with a cluster');
  const options: RequestOptions = {};
  await config.applyToHTTPSOptions(options);
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(options.headers ?? {})) {
    // A token that was read from a file may end with a newline, which no header may hold.
    if (value !== undefined) headers[name.toLowerCase()] = String(value).trim();
  }
  if (options.auth) headers['authorization'] = `Basic ${Buffer.from(options.auth).toString('base64')}`;
  const { ca, cert, key, pfx, passphrase, rejectUnauthorized, servername } = options;
  return {
    server: cluster.server.replace(/\/+$/, ''),
    tls: { ca, cert, key, pfx, passphrase, rejectUnauthorized, servername },
    headers,
    proxyUrl: cluster.proxyUrl,
  };
}
