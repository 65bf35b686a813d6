/** Addresses that no pod may reach: those of a machine's own link, and those where clouds keep their credentials. */
import { BlockList, isIP } from 'node:net';
import type { Connection } from './connections.ts';

/** CIDRs. Those of metadata services over IPv6 are AWS's and Google's; over IPv4 they are link-local. */
export const BLOCKED = {
  ipv4: ['169.254.0.0/16'],
  ipv6: ['fe80::/10', 'fd00:ec2::254/128', 'fd20:ce::254/128'],
} as const;

const list = new BlockList();
for (const family of ['ipv4', 'ipv6'] as const) {
  for (const cidr of BLOCKED[family]) {
    const [network = '', prefix] = cidr.split('/');
    list.addSubnet(network, Number(prefix), family);
  }
}

/** Whether a host is such an address, also when it is written as IPv6. Names are none. */
export function isBlocked(host: string): boolean {
  const family = isIP(host);
  return family !== 0 && list.check(host, family === 4 ? 'ipv4' : 'ipv6');
}

/** Fields that lead there, with what is wrong with them. */
export const blockedFields = (connections: readonly Connection[]): { field: string; message: string }[] =>
  connections.flatMap(({ field, target }) =>
    target !== undefined && isBlocked(target.host)
      ? [
          {
            field,
            message: `leads to ${target.host}, a link-local address or that of a cloud's metadata service, which pods may not reach`,
          },
        ]
      : [],
  );
