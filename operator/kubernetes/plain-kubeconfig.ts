import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import type { Connection } from './credentials.ts';

// Strict: a member that is not known here may matter.
const Cluster = z.strictObject({
  server: z.string(),
  'certificate-authority': z.string().optional(),
  'certificate-authority-data': z.string().optional(),
  'insecure-skip-tls-verify': z.boolean().optional(),
  'tls-server-name': z.string().optional(),
  'proxy-url': z.string().optional(),
});
const User = z.strictObject({
  token: z.string().optional(),
  'client-certificate': z.string().optional(),
  'client-certificate-data': z.string().optional(),
  'client-key': z.string().optional(),
  'client-key-data': z.string().optional(),
});
const Kubeconfig = z.looseObject({
  'current-context': z.string(),
  contexts: z.array(
    z.looseObject({ name: z.string(), context: z.looseObject({ cluster: z.string(), user: z.string() }) }),
  ),
  clusters: z.array(z.looseObject({ name: z.string(), cluster: z.unknown() })),
  users: z.array(z.looseObject({ name: z.string(), user: z.unknown() })),
});

/**
 * The current context of a kubeconfig with nothing but a token or a certificate; undefined when it has something else, or
 * is none. Source: Kubernetes, "kubeconfig (v1)".
 */
export async function plainConnection(file: string): Promise<Connection | undefined> {
  const config = Kubeconfig.safeParse(parse(await readFile(file, 'utf8'))).data;
  const named = <T extends { readonly name: string }>(list: readonly T[] | undefined, name: string | undefined) =>
    list?.find((one) => one.name === name);
  const context = named(config?.contexts, config?.['current-context'])?.context;
  const cluster = Cluster.safeParse(named(config?.clusters, context?.cluster)?.cluster).data;
  const user = User.safeParse(named(config?.users, context?.user)?.user).data;
  if (cluster === undefined || user === undefined) return undefined;

  const content = async (data: string | undefined, path: string | undefined): Promise<Buffer | undefined> => {
    if (data) return Buffer.from(data, 'base64');
    return path ? readFile(resolve(dirname(file), path)) : undefined;
  };
  const [ca, cert, key] = await Promise.all([
    content(cluster['certificate-authority-data'], cluster['certificate-authority']),
    content(user['client-certificate-data'], user['client-certificate']),
    content(user['client-key-data'], user['client-key']),
  ]);
  return {
    server: cluster.server.replace(/\/+$/, ''),
    tls: {
      ca: ca?.toString(),
      cert: cert?.toString(),
      key: key?.toString(),
      rejectUnauthorized: cluster['insecure-skip-tls-verify'] === true ? false : undefined,
      servername: cluster['tls-server-name'],
    },
    headers: user.token ? { authorization: `Bearer ${user.token.trim()}` } : {},
    proxyUrl: cluster['proxy-url'],
  };
}
