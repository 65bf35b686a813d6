import { describe, expect, test } from 'vitest';
import { checkAdapterConfig } from '../../../crds/config/load/load.ts';
import { type Path, valueAt } from '../../../lib/json/tree.ts';
import { completedConfig } from './completed-config.ts';
import { adapterWith } from '../testing/golden-resources.ts';

const completed = (spec: Record<string, unknown>, config: Record<string, unknown> = {}, ...path: Path): unknown =>
  valueAt(completedConfig(adapterWith(spec, config)), path);

const ingress = { host: 'mcp.example.com', tlsSecretName: 'tls' };
const route = {
  parentRefs: [{ name: 'gateway', sectionName: 'https' }],
  hostnames: ['a.example.com', '*.b.example.com'],
};
const inside = [
  'sample',
  'sample.tools',
  'sample.tools.svc',
  'sample.tools.svc.cluster.local',
  'sample.tools.svc.clusterset.local',
];

describe('T17: limits that a file has not', () => {
  test.each<[string, Record<string, unknown>, unknown]>([
    ['a temporary folder', {}, 966_367_641],
    ['one with a size', { storage: { temporary: { sizeLimit: '100M' } } }, 90_000_000],
    ['a claim', { storage: { claim: { size: '10Gi' } } }, 9_663_676_416],
    ['a claim of others, whose size only the cluster knows', { storage: { existingClaim: 'x' } }, undefined],
  ])('bytes of %s', (_, spec, expected) => {
    expect(completed(spec, {}, 'storage', 'max_size')).toBe(expected);
  });

  test('of sessions', () => {
    expect(completed({}, {}, 'sessions')).toEqual({ max_active: 2000, idle_ttl_seconds: 86_400 });
    expect(completed({}, { sessions: null }, 'sessions', 'max_active')).toBe(2000);
  });

  test('leave alone what the resource sets', () => {
    const sessions = { max_active: null, idle_ttl_seconds: 'null', allow_revival: false };
    expect(completed({}, { sessions }, 'sessions')).toEqual(sessions);
    expect(completed({}, { storage: { max_size: '${SIZE}' } }, 'storage', 'max_size')).toBe('${SIZE}');
    expect(completed({}, { storage: '${STORAGE}' }, 'storage')).toBe('${STORAGE}');
  });
});

describe('T8 T13: the names by which clients reach it', () => {
  test.each<[string, Record<string, unknown>, unknown, unknown, unknown]>([
    ['a Service', {}, undefined, inside, ['loopback']],
    ['a Service of a load balancer', { service: { type: 'LoadBalancer' } }, undefined, undefined, undefined],
    ['a Service on nodes', { service: { type: 'NodePort' } }, undefined, undefined, undefined],
    ['an Ingress', { ingress }, 'https://mcp.example.com', [...inside, 'mcp.example.com'], ['loopback', 'uniquelocal']],
    [
      'an Ingress without a certificate',
      { ingress: { host: 'a.b' } },
      'http://a.b',
      [...inside, 'a.b'],
      expect.anything(),
    ],
    [
      'a route',
      { httpRoute: route },
      'https://a.example.com',
      [...inside, 'a.example.com', '*.b.example.com'],
      ['loopback', 'uniquelocal'],
    ],
    ['a route for any host', { httpRoute: { parentRefs: [{ name: 'g' }] } }, undefined, undefined, expect.anything()],
  ])('%s', (_, spec, url, hosts, proxies) => {
    const core = completed(spec, {}, 'core');
    expect(core ?? {}).toEqual({
      ...(url === undefined ? {} : { public_base_url: url }),
      ...(proxies === undefined ? {} : { trusted_proxies: proxies }),
      ...(hosts === undefined ? {} : { allowed_hosts: hosts }),
    });
    expect(checkAdapterConfig(completed(spec))).toEqual([]);
  });

  test('are the user’s where the resource has them', () => {
    const core = { public_base_url: 'https://x.example', trusted_proxies: [], allowed_hosts: null };
    expect(completed({ ingress }, { core }, 'core')).toEqual(core);
  });
});
