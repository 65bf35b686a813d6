/** Hosts that no pod may connect to: addresses of `blocked-addresses.ts`, and the API server. */
import { blockedReason } from '../../lib/net/blocked-addresses.ts';
import type { Connection } from './connections.ts';

/** Whose connections are looked at. */
export interface Blocking {
  /** Where the pods run, which is what short names are names in. */
  readonly namespace: string;
  /** Addresses of the API server, which is blocked by its names too; undefined: it is not. */
  readonly apiServer: readonly string[] | undefined;
}

/** Fields that lead there, with what is wrong with them. */
export const blockedFields = (
  connections: readonly Connection[],
  blocking: Blocking,
): { field: string; message: string }[] =>
  connections.flatMap(({ field, target }) => {
    const message = target === undefined ? undefined : blockedMessage(target.host, blocking);
    return message === undefined ? [] : [{ field, message }];
  });

function blockedMessage(host: string, { namespace, apiServer }: Blocking): string | undefined {
  const reason = blockedReason(host);
  if (reason !== undefined) return `leads to ${host}, ${reason}, which pods may not reach`;
  if (apiServer === undefined || !(apiServer.includes(host) || isApiServer(host, namespace))) return undefined;
  return `leads to ${host}, the API server of the cluster, which pods may reach only with --allow-api-server of the operator`;
}

const isApiServer = (host: string, namespace: string): boolean =>
  /^kubernetes\.default(\.svc(\..*)?)?$/.test(host) || (host === 'kubernetes' && namespace === 'default');
