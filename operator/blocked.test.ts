import { describe, expect, test } from 'vitest';
import { check } from './mcp-adapter/check/check.ts';
import { sampleAdapter } from './mcp-adapter/testing/sample.ts';
import { preparing } from './scrape-group/group/prepare.ts';
import { first } from './scrape-group/testing/sources.ts';
import { DEFAULT_PERMISSIONS, type Permissions } from './validation/permissions.ts';

const apiServer = { ...DEFAULT_PERMISSIONS, apiServer: ['10.96.0.1', 'fd00:96::1'] };

function problems(values: Record<string, unknown>, permissions: Permissions = apiServer): string[] {
  const checked = check(sampleAdapter(values), { httpRoutes: true }, permissions);
  return checked.ok ? [] : checked.problems.map(({ path, message }) => `${path} ${message}`);
}
const upstream = (host: string) => ({
  'spec.config.servers': [{ id: 'a', mount_path: '/a', upstream: { url: `http://${host}/mcp` } }],
});
const redis = (host: string) => ({ 'spec.config.state_persistence': { type: 'redis', redis: { host } } });

describe('T5 O17: addresses that pods may not reach', () => {
  test.each([
    '169.254.169.254',
    '2852039166',
    '0xa9fea9fe',
    '0251.0376.0251.0376',
    '169.254.43518',
    '１６９.254.169.254',
    '[::ffff:169.254.169.254]',
    '[::ffff:a9fe:a9fe]',
    '[64:ff9b::a9fe:a9fe]',
    '[2002:a9fe:a9fe::]',
    '[::a9fe:a9fe]',
    '[fe80::1]',
    '[fd00:ec2::254]',
    '[fd20:ce::254]',
    '100.100.100.200',
    '168.63.129.16',
    '192.0.0.192',
  ])('%s is refused with the field', (host) => {
    expect(problems(upstream(host))).toEqual([
      expect.stringMatching(/^spec\.config\.servers\[0\]\.upstream\.url leads to .*, which pods may not reach$/),
    ]);
    const { problems: found } = preparing(apiServer)(first('one', { source: { baseUrl: `http://${host}` } }));
    expect(found).toEqual([expect.objectContaining({ path: 'source.baseUrl' })]);
  });

  test.each(['169.254.169.254', '2852039166', '0xa9fea9fe', '64:ff9b::a9fe:a9fe', 'fe80::1'])(
    '%s is refused where there is no URL',
    (host) => {
      expect(problems(redis(host))).toEqual([
        expect.stringContaining('spec.config.state_persistence.redis.host leads to'),
      ]);
    },
  );

  test.each([
    '10.96.0.1',
    '[fd00:96::1]',
    'kubernetes.default',
    'kubernetes.default.svc',
    'KUBERNETES.default.svc.cluster.local.',
  ])('%s is the API server, for which the operator has a flag', (host) => {
    expect(problems(upstream(host))).toEqual([expect.stringContaining('only with --allow-api-server of the operator')]);
    expect(problems(upstream(host), { ...DEFAULT_PERMISSIONS, apiServer: undefined })).toEqual([]);
  });

  test('the short name of the API server is one in its own namespace', () => {
    const inDefault = { ...upstream('kubernetes'), 'metadata.namespace': 'default' };
    expect(problems(inDefault)).toEqual([expect.stringContaining('the API server')]);
    expect(problems(upstream('kubernetes'))).toEqual([]);
    expect(problems(upstream('kubernetes.tools'))).toEqual([]);
  });
});
