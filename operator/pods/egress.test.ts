import { describe, expect, test } from 'vitest';
import { BLOCKED_CIDRS } from '../../lib/net/blocked-addresses.ts';
import type { KubernetesObject } from '../kubernetes/kubernetes.ts';
import { egressRules, unknownConnections, widePorts } from './egress.ts';

const service = (namespace: string, name: string, spec: object): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { namespace, name },
  spec,
});

const existing = [
  service('tools', 'web', {
    selector: { app: 'web' },
    ports: [{ port: 80, targetPort: 8080 }, { port: 81, targetPort: 'mcp' }, { port: 82 }],
  }),
  service('tools', 'udp', {
    selector: { app: 'udp' },
    ports: [
      { port: 80, protocol: 'UDP', targetPort: 1 },
      { port: 80, targetPort: 2 },
    ],
  }),
  service('tools', 'set', { clusterIP: 'None', selector: { app: 'set' }, ports: [{ port: 80, targetPort: 8080 }] }),
  service('tools', 'alias', { type: 'ExternalName', externalName: 'web.tools.svc.cluster.local.' }),
  service('tools', 'outside', { type: 'ExternalName', externalName: 'mcp.example.com' }),
  service('tools', 'metadata', { type: 'ExternalName', externalName: '169.254.169.254' }),
  service('tools', 'loop', { type: 'ExternalName', externalName: 'loop.tools' }),
  service('tools', 'bare', { ports: [{ port: 80, targetPort: 9 }] }),
  service('tools', 'empty', {}),
  service('com', 'example', { selector: { app: 'example' }, ports: [{ port: 80 }] }),
  {
    ...service('far', 'shown', { selector: { app: 'shown' }, ports: [{ port: 80, targetPort: 8080 }] }),
    metadata: { namespace: 'far', name: 'shown', labels: { 'mcpadapter.io/show-selector': 'true' } },
  },
  {
    ...service('far', 'withdrawn', { selector: { app: 'withdrawn' }, ports: [{ port: 80, targetPort: 8080 }] }),
    metadata: { namespace: 'far', name: 'withdrawn', labels: { 'mcpadapter.io/show-selector': 'false' } },
  },
  service('far', 'hidden', { selector: { app: 'hidden' }, ports: [{ port: 80, targetPort: 8080 }] }),
];

const rules = (host: string, port = 80, { podSecurity = 'restricted' as const } = {}): unknown[] =>
  egressRules('tools', [{ field: 'f', target: { host, ports: [port] } }], {
    podSecurity,
    services: (namespace, name) =>
      existing.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name),
  }).slice(1);

const namespace = (name: string) => ({ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } } });
const pods = (name: string, app: string) => ({ ...namespace(name), podSelector: { matchLabels: { app } } });
const anywhere = [
  { ipBlock: { cidr: '0.0.0.0/0', except: BLOCKED_CIDRS.ipv4 } },
  { ipBlock: { cidr: '::/0', except: BLOCKED_CIDRS.ipv6 } },
];
const rule = (to: object | readonly object[], port: number | string) => ({
  to: Array.isArray(to) ? to : [to],
  ports: [{ port, protocol: 'TCP' }],
});

describe('the pods of a Service', () => {
  test.each([
    'web',
    'web.tools',
    'web.tools.svc',
    'web.tools.svc.cluster.local',
    'web.tools.svc.corp.example',
    'pod-0.web.tools.svc.cluster.local',
    'alias',
  ])('by the name %s', (host) => {
    expect(rules(host)).toEqual([rule(pods('tools', 'web'), 8080)]);
  });

  test.each([
    ['web', 81, 'mcp'],
    ['web', 82, 82],
    ['web', 83, 83],
    ['udp', 80, 2],
    ['set', 7000, 7000],
    ['set', 80, 80],
  ])('%s at port %i is port %s of the pods', (host, port, expected) => {
    expect(rules(host, port)).toEqual([rule(pods('tools', host), expected)]);
  });

  test.each(['pod-0.set.tools', 'pod-0.set', 'pod-0.set.tools.svc'])('by the name %s of one of them', (host) => {
    expect(rules(host, 7000)).toEqual([rule(pods('tools', 'set'), 7000)]);
  });

  test('that has no selector may be anywhere', () => {
    expect(rules('bare')).toEqual([rule(namespace('tools'), 9), rule(anywhere, 9)]);
    expect(rules('empty')).toEqual([rule(namespace('tools'), 80), rule(anywhere, 80)]);
  });

  test('that is not there yet are those of its namespace', () => {
    expect(rules('gone')).toEqual([rule(namespace('tools'), 80)]);
    expect(rules('gone.far.svc')).toEqual([rule(namespace('far'), 80)]);
    expect(rules('pod-0.gone.far.svc.cluster.local')).toEqual([rule(namespace('far'), 80)]);
    expect(rules('gone.far.svc.corp.example')).toEqual([rule(namespace('far'), 80), rule(anywhere, 80)]);
  });
});

describe('the pods of a Service that may not be read', () => {
  const egress = (...connections: (readonly [string, number])[]): unknown[] =>
    egressRules(
      'tools',
      connections.map(([host, port]) => ({ field: 'f', target: { host, ports: [port] } })),
      { podSecurity: 'restricted', services: () => undefined, unreadable: (namespace) => namespace === 'far' },
    ).slice(1);
  const anyPort = { to: [namespace('far')], ports: [{ protocol: 'TCP' }] };

  test('listen on a port that nobody knows', () => {
    expect(egress(['web.far.svc', 80])).toEqual([anyPort]);
    expect(egress(['web.far.svc', 80], ['search.far.svc', 9000])).toEqual([anyPort]);
    expect(egress(['web.far.svc.corp.example', 80])).toEqual([anyPort, rule(anywhere, 80)]);
  });

  test('is none of those that may', () => {
    expect(egress(['web', 80])).toEqual([rule(namespace('tools'), 80)]);
  });
});

test('L8: the pods of another namespace are shown by their labels only where their Service says so', () => {
  expect(rules('shown.far')).toEqual([rule(pods('far', 'shown'), 8080)]);
  const [hidden] = rules('hidden.far');
  expect(hidden).toEqual({ to: [namespace('far')], ports: [{ protocol: 'TCP' }] });
  expect(JSON.stringify(hidden)).not.toMatch(/8080|podSelector/);
});

test('T5 O13: a host that only the pods know opens all but what nobody may reach, in the cluster too', () => {
  const unknown = egressRules('tools', [{ field: 'f', target: undefined }], {
    podSecurity: 'restricted',
    services: () => undefined,
  });
  expect(unknown.slice(1)).toEqual([{ to: [...anywhere, { namespaceSelector: {} }], ports: [{ protocol: 'TCP' }] }]);
  expect(widePorts({ spec: { egress: unknown } })).toEqual(['every port']);
});

describe('hosts', () => {
  test.each([
    ['192.0.2.1', '192.0.2.1/32'],
    ['fd00::1', 'fd00::1/128'],
    ['2001:db8::1', '2001:db8::1/128'],
  ])('%s is one address', (host, cidr) => {
    expect(rules(host)).toEqual([rule({ ipBlock: { cidr } }, 80)]);
  });

  test.each(['127.0.0.1', '127.1.2.3', '0.0.0.0', '::1', '::', 'localhost', 'a.localhost', '::ffff:127.0.0.1'])(
    '%s stays inside the pod',
    (host) => expect(rules(host)).toEqual([]),
  );

  test.each([
    '169.254.169.254',
    '169.254.1.1',
    '::ffff:169.254.169.254',
    '::ffff:a9fe:a9fe',
    'fe80::1',
    'febf::1',
    'fd00:ec2::254',
    'fd20:ce::254',
    '64:ff9b::a9fe:a9fe',
    '2002:a9fe:a9fe::',
    '::a9fe:a9fe',
    '100.100.100.200',
    '168.63.129.16',
    '192.0.0.192',
    'metadata',
  ])('%s is never opened', (host) => expect(rules(host)).toEqual([]));

  test('a name outside the cluster is anywhere but this network', () => {
    expect(rules('mcp.example.com')).toEqual([rule(anywhere, 80)]);
    expect(rules('outside')).toEqual([rule(anywhere, 80)]);
  });

  test('a name that could be both is both, until there is such a Service', () => {
    expect(rules('example.org')).toEqual([rule(namespace('org'), 80), rule(anywhere, 80)]);
    expect(rules('example.com')).toEqual([{ to: [namespace('com')], ports: [{ protocol: 'TCP' }] }]);
  });

  test.each(['a..b', 'my_host', 'my_host.tools', '..', '-a.tools'])('%s is no name of the cluster', (host) => {
    const services = (): never => {
      throw new Error('asked');
    };
    const connections = [{ field: 'f', target: { host, ports: [80] } }];
    expect(egressRules('tools', connections, { services, podSecurity: 'restricted' })[1]).toEqual(rule(anywhere, 80));
  });

  test('a Service that is an alias of itself ends somewhere', () => {
    expect(rules('loop')).toContainEqual(rule(anywhere, 80));
  });
});

test('one rule for each peer, with its ports in order, after DNS', () => {
  const services = () => undefined;
  const to = (host: string, ...ports: number[]) => ({ field: 'f', target: { host, ports } });
  const connections = [to('a.b.c', 8080), to('192.0.2.1', 9), to('d.e.f', 443, 4317), to('a.b.c', 8080)];
  expect(egressRules('tools', connections, { services, podSecurity: 'restricted' })).toEqual([
    {
      ports: [
        { port: 53, protocol: 'UDP' },
        { port: 53, protocol: 'TCP' },
      ],
    },
    { to: anywhere, ports: [443, 4317, 8080].map((port) => ({ port, protocol: 'TCP' })) },
    rule({ ipBlock: { cidr: '192.0.2.1/32' } }, 9),
  ]);
});

test('OpenShift’s DNS listens elsewhere', () => {
  const [dns] = egressRules('tools', [], { services: () => undefined, podSecurity: 'openshift' });
  expect(dns?.ports.map(({ port }) => port)).toEqual([53, 53, 5353, 5353]);
});

test('fields that hide where they lead are named', () => {
  const known = { field: 'a', target: { host: 'a', ports: [1] } };
  expect(unknownConnections([known, { field: 'b', target: undefined }])).toEqual(['b']);
});

test('ports at which any address may be reached are named, of the whole policy', () => {
  const of = (...rules: object[]): unknown => widePorts({ spec: { egress: rules } });
  expect(of(rule(namespace('a'), 80), rule({ ipBlock: { cidr: '192.0.2.1/32' } }, 81))).toEqual([]);
  expect(of(rule(namespace('a'), 80), { to: anywhere, ports: [{ port: 443 }, { port: 8443 }] })).toEqual([
    '443',
    '8443',
  ]);
  expect(of(rule(anywhere, 443), rule({ ipBlock: { cidr: '::/0' } }, 443))).toEqual(['443']);
  expect(of({ to: anywhere })).toEqual(['every port']);
  expect(of({ ports: [{ port: 53 }] })).toEqual([]);
  expect(widePorts(undefined)).toEqual([]);
});
