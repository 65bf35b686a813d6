/**
 * Addresses that none of the programs connects to, whoever asks for it: those of a machine's own link, and those where
 * clouds hand out their credentials. What resolves names asks `blockedReason` for the resolved address; NetworkPolicies
 * take the same ranges from `BLOCKED_CIDRS`.
 */
import { BlockList, isIP, isIPv4 } from 'node:net';

interface Range {
  /** What is there, as in "leads to 169.254.169.254, …". */
  readonly what: string;
  readonly cidr: string;
}

const metadataOf = (cloud: string): string => `the metadata service of ${cloud}`;

/** Most clouds (AWS, Google, Azure, Oracle, OpenStack, DigitalOcean, Tencent, …) use an address of the first one. */
const RANGES: { readonly ipv4: readonly Range[]; readonly ipv6: readonly Range[] } = {
  ipv4: [
    { cidr: '169.254.0.0/16', what: "a link-local address, where clouds' metadata services are" },
    { cidr: '100.100.100.200/32', what: metadataOf('Alibaba Cloud') },
    { cidr: '168.63.129.16/32', what: "the wire server of Azure, which gives out a machine's secrets" },
    { cidr: '192.0.0.192/32', what: metadataOf('Oracle Cloud') },
  ],
  ipv6: [
    { cidr: 'fe80::/10', what: 'a link-local address' },
    { cidr: 'fd00:ec2::254/128', what: metadataOf('AWS') },
    { cidr: 'fd00:ec2::23/128', what: "the service of AWS that gives out the credentials of EKS' pods" },
    { cidr: 'fd20:ce::254/128', what: metadataOf('Google Cloud') },
    { cidr: 'fd00:c1::a9fe:a9fe/128', what: metadataOf('Oracle Cloud') },
    { cidr: 'fd00:42::42/128', what: metadataOf('Scaleway') },
    { cidr: 'fd00:a9fe:a9fe::1/128', what: metadataOf('Linode') },
  ],
};

/**
 * Where networks carry IPv4 addresses inside of IPv6 ones: the well-known prefix of NAT64 (RFC 6052), 6to4 (RFC 3056), and
 * addresses "compatible" with IPv4 (RFC 4291, 2.5.5.1). Mapped ones (`::ffff:a.b.c.d`) never leave a machine, and API
 * servers refuse them in policies.
 */
function embedded({ cidr }: Range): string[] {
  const [address = '', length = ''] = cidr.split('/');
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
  const [high, low] = [hex(a * 256 + b), hex(c * 256 + d)];
  const bits = Number(length);
  return [
    `64:ff9b::${high}:${low}/${96 + bits}`,
    `2002:${high}:${low}::/${16 + bits}`,
    `::${high}:${low}/${96 + bits}`,
  ];
}

const hex = (value: number): string => value.toString(16);

/** As a NetworkPolicy has to name them. */
export const BLOCKED_CIDRS: { readonly ipv4: readonly string[]; readonly ipv6: readonly string[] } = {
  ipv4: RANGES.ipv4.map(({ cidr }) => cidr),
  ipv6: [...RANGES.ipv6.map(({ cidr }) => cidr), ...RANGES.ipv4.flatMap(embedded).map(canonical)],
};

const lists = (['ipv4', 'ipv6'] as const).flatMap((family) =>
  RANGES[family].map(({ cidr, what }) => ({ family, what, list: listOf([cidr], family) })),
);

const LOOPBACK = {
  ipv4: listOf(['127.0.0.0/8', '0.0.0.0/8'], 'ipv4'),
  ipv6: listOf(['::1/128', '::/128'], 'ipv6'),
};

/**
 * What is at this address that nobody may connect to, as words for a message; undefined when there is no such thing. Every
 * form in which an IPv4 address can be part of one of IPv6 counts as that address. Loopback addresses are not among them.
 * @param ip as `isIP` takes it, with or without a zone; what is no address, such as a name, gives undefined
 */
export function blockedReason(ip: string): string | undefined {
  const meanings = meaningsOf(ip);
  return lists.find(({ family, list }) => meanings.some((one) => one.family === family && list.check(one.ip, family)))
    ?.what;
}

/** Whether an IP address, in any form, means the machine that connects to it: also `0.0.0.0` and `::`. */
export const isLoopbackAddress = (ip: string): boolean =>
  meaningsOf(ip).some((one) => LOOPBACK[one.family].check(one.ip, one.family));

/** What says whether an IP address, in any form, is one of these. */
export function anyOf(addresses: readonly string[]): (ip: string) => boolean {
  const meant = new Set(addresses.flatMap(meaningsOf).map(({ ip }) => written(ip)));
  return (ip) => meaningsOf(ip).some((one) => meant.has(written(one.ip)));
}

interface Meaning {
  readonly ip: string;
  readonly family: 'ipv4' | 'ipv6';
}

/** The address itself and the IPv4 addresses that it may stand for. */
function meaningsOf(ip: string): Meaning[] {
  if (isIPv4(ip)) return [{ ip, family: 'ipv4' }];
  const bare = ip.replace(/%.*$/s, '');
  if (isIP(bare) !== 6) return [];
  return [{ ip: bare, family: 'ipv6' }, ...inside(groupsOf(bare)).map((ip) => ({ ip, family: 'ipv4' }) as const)];
}

/** @param groups the eight numbers of an IPv6 address */
function inside(groups: readonly number[]): string[] {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = groups;
  const last = dotted(g, h);
  // `::` and `::1` are addresses of their own, and no others below 0.1.0.0 occur.
  const isCompatible = [a, b, c, d, e].every((group) => group === 0) && (f === 0xffff || (f === 0 && g !== 0));
  // RFC 2765, 2.1: `::ffff:0:a.b.c.d`.
  const isTranslated = [a, b, c, d, f].every((group) => group === 0) && e === 0xffff;
  if (isCompatible || isTranslated) return [last];
  if (a === 0x2002) return [dotted(b, c)];
  // RFC 8215: a prefix of one's own, whose length nobody else knows; RFC 6052, 2.2 says where the address then stands.
  if (a === 0x64 && b === 0xff9b && c === 1) {
    const by48 = dotted(d, ((e & 0xff) << 8) | (f >> 8));
    const by56 = dotted(((d & 0xff) << 8) | (e & 0xff), f);
    const by64 = dotted(((e & 0xff) << 8) | (f >> 8), ((f & 0xff) << 8) | (g >> 8));
    return [last, by48, by56, by64];
  }
  return a === 0x64 && b === 0xff9b ? [last] : [];
}

const dotted = (high: number, low: number): string => [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.');

/** The parser of URLs writes addresses in one way, those of IPv6 without dots. */
function written(ip: string): string {
  if (isIPv4(ip)) return ip;
  return new URL(`http://[${ip}]`).hostname.slice(1, -1);
}

function groupsOf(ip: string): number[] {
  const [head = '', tail] = written(ip).split('::');
  const numbers = (text: string): number[] => (text === '' ? [] : text.split(':').map((group) => parseInt(group, 16)));
  const [before, after] = [numbers(head), numbers(tail ?? '')];
  return [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
}

function canonical(cidr: string): string {
  const [address = '', length] = cidr.split('/');
  return `${written(address)}/${length}`;
}

function listOf(cidrs: readonly string[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList();
  for (const cidr of cidrs) {
    const [network = '', length] = cidr.split('/');
    list.addSubnet(network, Number(length), family);
  }
  return list;
}
