import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { type Credentials, refreshed } from './credentials.ts';

/** Where the kubelet mounts the token of the pod's ServiceAccount. */
const SERVICE_ACCOUNT_DIR = '/var/run/secrets/kubernetes.io/serviceaccount';

/**
 * The pod's ServiceAccount, or undefined outside a pod. Written here rather than taken from @kubernetes/client-node,
 * because loading that package costs 85 MB of resident memory for its generated models.
 */
export async function inClusterCredentials(
  env: Readonly<Record<string, string | undefined>>,
  dir = SERVICE_ACCOUNT_DIR,
  now = () => performance.now(),
): Promise<Credentials | undefined> {
  const host = env['KUBERNETES_SERVICE_HOST'];
  const port = env['KUBERNETES_SERVICE_PORT'];
  if (!host || !port) return undefined;
  try {
    await access(join(dir, 'token'));
  } catch {
    return undefined;
  }
  const server = `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
  return refreshed(async () => {
    const [token, ca] = await Promise.all([
      readFile(join(dir, 'token'), 'utf8'),
      readFile(join(dir, 'ca.crt'), 'utf8'),
    ]);
    return { server, tls: { ca }, headers: { authorization: `Bearer ${token.trim()}` } };
  }, now);
}
