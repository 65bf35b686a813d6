import { BlockList } from 'node:net';
import { describe, expect, test } from 'vitest';
import { BLOCKED_CIDRS, blockedReason, isLoopbackAddress } from './blocked-addresses.ts';

const METADATA = ['169.254.169.254', '169.254.170.2', '100.100.100.200', '168.63.129.16', '192.0.0.192'];

/** Ways to write an IPv4 address as one of IPv6. */
const forms = (ip: string): string[] => {
  const [a = 0, b = 0, c = 0, d = 0] = ip.split('.').map(Number);
  const hex = (value: number): string => value.toString(16);
  const [high, low] = [hex(a * 256 + b), hex(c * 256 + d)];
  return [
    `::ffff:${ip}`,
    `::FFFF:${high}:${low}`,
    `0:0:0:0:0:ffff:${high}:${low}`,
    `::ffff:0:${ip}`,
    `::${ip}`,
    `64:ff9b::${ip}`,
    `0064:ff9b:0:0:0:0:${high}:${low}`,
    `64:ff9b:1::${ip}`,
    // RFC 6052, 2.2, of prefixes of 48, 56 and 64 bits.
    `64:ff9b:1:${high}:${hex(c)}:${hex(d * 256)}::`,
    `64:ff9b:1:${hex(0xab00 + a)}:${hex(b)}:${low}::`,
    `64:ff9b:1:abcd:${hex(a)}:${hex(b * 256 + c)}:${hex(d * 256)}:0`,
    `2002:${high}:${low}::`,
    `2002:${high}:${low}:1::5`,
  ];
};

describe('T5: addresses that nobody connects to', () => {
  test.each(METADATA)('%s, and it in all forms of IPv6', (ip) => {
    expect(blockedReason(ip)).toMatch(/link-local|metadata|Azure/);
    for (const form of forms(ip)) expect(blockedReason(form), form).toBe(blockedReason(ip));
  });

  test.each([
    'fe80::1',
    'fe80::1%eth0',
    'febf::ffff',
    'fe80::a9fe:a9fe',
    'fd00:ec2::254',
    'FD00:0EC2:0:0:0:0:0:0254',
    'fd00:ec2::23',
    'fd20:ce::254',
    'fd00:c1::a9fe:a9fe',
    'fd00:42::42',
    'fd00:a9fe:a9fe::1',
  ])('%s', (ip) => expect(blockedReason(ip)).toMatch(/link-local|metadata|credentials/));

  test.each([
    '8.8.8.8',
    '10.0.0.1',
    '192.168.1.1',
    '100.64.0.1',
    '127.0.0.1',
    '169.253.255.255',
    '192.0.0.193',
    '::1',
    '::',
    'fd00::1',
    '2001:db8::a9fe:a9fe',
    '64:ff9b::8.8.8.8',
    '2002:808:808::1',
    '::ffff:10.0.0.1',
    'metadata.google.internal',
    '169.254.169.254.example.com',
    '',
  ])('not %j', (host) => expect(blockedReason(host)).toBeUndefined());
});

describe('T5: a policy that leaves the ranges out', () => {
  const policy = new BlockList();
  for (const family of ['ipv4', 'ipv6'] as const) {
    for (const cidr of BLOCKED_CIDRS[family]) {
      const [network = '', length] = cidr.split('/');
      policy.addSubnet(network, Number(length), family);
    }
  }

  test.each(METADATA)('leaves out %s in every form that a network carries', (ip) => {
    expect(policy.check(ip)).toBe(true);
    const onTheWire = forms(ip).filter((form) => /^(64:ff9b::|2002:|::[0-9.]+$)/.test(form));
    expect(onTheWire).toHaveLength(4);
    for (const form of onTheWire) expect(policy.check(form, 'ipv6'), form).toBe(true);
  });

  test('and no other', () => {
    for (const ip of ['8.8.8.8', '10.0.0.1', '100.100.100.201']) expect(policy.check(ip)).toBe(false);
    for (const ip of ['64:ff9b::808:808', '2002:808:808::1', '2001:db8::1'])
      expect(policy.check(ip, 'ipv6')).toBe(false);
  });
});

describe('the machine itself', () => {
  test.each(['127.0.0.1', '127.255.0.1', '0.0.0.0', '0.1.2.3', '::1', '::', '0:0:0:0:0:0:0:1', ...forms('127.0.0.1')])(
    '%s',
    (ip) => {
      expect(isLoopbackAddress(ip)).toBe(true);
    },
  );
  test.each(['10.0.0.1', '128.0.0.1', '::2', 'fe80::1', '64:ff9b::8.8.8.8', 'localhost'])('not %s', (ip) => {
    expect(isLoopbackAddress(ip)).toBe(false);
  });
});
