import { describe, expect, test } from 'vitest';
import type { McpAdapterSpec } from '../../../crds/v1alpha1/mcp-adapter.ts';
import { effectiveConfig } from './effective-config.ts';
import { adapterWith } from '../testing/golden-resources.ts';

const of = (config: Record<string, unknown>, spec: Record<string, unknown> = {}) =>
  effectiveConfig(adapterWith(spec, config).spec);

const server = (url: unknown, rest: object = {}) => ({ id: 'a', mount_path: '/a', upstream: { url }, ...rest });
const secret = (name: string) => ({ name, valueFrom: { secretKeyRef: { name: 's', key: 'k' } } });

test('what is not written has the defaults of the adapter', () => {
  expect(of({})).toEqual({
    host: '0.0.0.0',
    port: 8932,
    portUnknown: false,
    perServer: false,
    outputFolders: [],
    storageRoot: '/data/shared',
    stateType: 'disk',
    statePathOutside: undefined,
    metrics: undefined,
    auditPathOutside: undefined,
    shutdownSeconds: 60,
    telemetrySeconds: 0,
    authEnabled: false,
    issuers: [],
    servers: [{ id: 'notes', mountPath: '/notes', url: 'http://notes:8101/mcp' }],
    connections: [{ field: 'servers[0].upstream.url', target: { host: 'notes', ports: [8101] } }],
  });
});

describe('a value with a variable', () => {
  test.each([
    ['written in the resource', { env: [{ name: 'PORT', value: '9000' }] }, '${PORT}', 9000, false],
    ['with a default and nothing else', {}, '${PORT:-9001}', 9001, false],
    ['empty in the resource', { env: [{ name: 'PORT', value: '' }] }, '${PORT:-9001}', 9001, false],
    ['from a Secret', { env: [secret('PORT')] }, '${PORT}', 8932, true],
    ['from a Secret, with a default', { env: [secret('PORT')] }, '${PORT:-9001}', 8932, true],
    ['perhaps from a whole Secret', { envFrom: [{ secretRef: { name: 's' } }] }, '${PORT:-9001}', 8932, true],
    [
      'written, beside a whole Secret',
      { env: [{ name: 'PORT', value: '9000' }], envFrom: [{ secretRef: { name: 's' } }] },
      '${PORT}',
      9000,
      false,
    ],
    ['that the kubelet makes from others', { env: [{ name: 'PORT', value: '$(OTHER)' }] }, '${PORT}', 8932, true],
    ['with a dollar sign of its own', { env: [{ name: 'PORT', value: '9$' }] }, '${PORT}', 8932, false],
    ['that nothing declares', {}, '${PORT}', 8932, true],
    ['in a part of it', { env: [secret('PORT')] }, '90${PORT}', 8932, true],
    ['that makes no sense', { env: [{ name: 'PORT', value: 'x' }] }, '${PORT}', 8932, false],
  ])('%s', (_name, spec, port, expected, unknown) => {
    expect(of({ core: { port } }, spec)).toMatchObject({ port: expected, portUnknown: unknown });
  });

  test('is not known: neither is what depends on it', () => {
    const spec = { env: ['HOST', 'TYPE', 'AUTH', 'ROOT', 'ID', 'MOUNT', 'URL'].map(secret) };
    const config = {
      core: { host: '${HOST}', auth: { enabled: '${AUTH}', token: 'x' } },
      state_persistence: { type: '${TYPE}' },
      storage: { root: '/mnt/${ROOT}' },
      servers: [{ id: '${ID}', mount_path: '/${MOUNT}', upstream: { url: '${URL}' } }],
    };
    expect(of(config, spec)).toMatchObject({
      host: undefined,
      authEnabled: undefined,
      stateType: undefined,
      storageRoot: '/data/shared',
      servers: [{ id: undefined, mountPath: undefined, url: undefined }],
      connections: [{ target: undefined }],
    });
  });
});

test.each([
  [{ root: '/data/shared/' }, undefined, '/data/shared', undefined],
  [{ root: './files' }, 'files/state.db', '/files', undefined],
  [{ root: '/files' }, '/files/../state.db', '/files', '/state.db'],
  [{ root: '/files' }, '/files-2/state.db', '/files', '/files-2/state.db'],
  [{ root: '/' }, '/state.db', '/', undefined],
])('storage %j with the state file %j', (storage, local_path, storageRoot, statePathOutside) => {
  const config = { storage, state_persistence: { disk: { local_path } } };
  expect(of(config)).toMatchObject({ storageRoot, statePathOutside });
});

test('with Redis there is no state file', () => {
  const state_persistence = { type: 'redis', redis: { host: 'redis' }, disk: { local_path: '/elsewhere/state.db' } };
  expect(of({ state_persistence })).toMatchObject({ stateType: 'redis', statePathOutside: undefined });
});

describe('running calls get the time that they may take', () => {
  const limit = (tool_call_timeout_seconds: unknown) => ({ tool_call_timeout_seconds });
  const consumer = (value: unknown) => ({
    type: 'upload_consumer',
    tools: ['t'],
    file_path_argument: 'p',
    overrides: limit(value),
  });
  test.each([
    ['the grace when it is longer', { core: { shutdown_grace_seconds: 61 } }, 61],
    ['the default limit of calls', { core: { shutdown_grace_seconds: 0 } }, 60],
    ['the common limit', { core: { defaults: limit('90') } }, 90],
    ['whole seconds', { core: { defaults: limit(90.2) } }, 91],
    ['no limit', { core: { defaults: limit(null) } }, 600],
    [
      'the limit of a server',
      { servers: [server('http://a', { tool_defaults: limit(120) }), server('http://b')] },
      120,
    ],
    [
      'a server that inherits',
      { core: { defaults: limit(200) }, servers: [server('http://a', { tool_defaults: limit(null) })] },
      200,
    ],
    ['no limit, as text', { core: { defaults: limit('Null') } }, 600],
    [
      'a server that inherits, as text',
      { core: { defaults: limit(200) }, servers: [server('http://a', { tool_defaults: limit('null') })] },
      200,
    ],
    [
      'shorter than common, for all servers',
      { core: { shutdown_grace_seconds: 1 }, servers: [server('http://a', { tool_defaults: limit(5) })] },
      5,
    ],
    ['a tool that may take longer', { servers: [server('http://a', { adapters: [consumer(300)] })] }, 300],
    [
      'a tool that inherits',
      { servers: [server('http://a', { tool_defaults: limit(70), adapters: [consumer(null)] })] },
      70,
    ],
    ['a variable that is not known', { core: { defaults: limit('${LIMIT}') } }, 600],
    ['no more than a day', { core: { defaults: limit(1e12) } }, 86_400],
  ])('%s', (_name, config, expected) => {
    expect(of(config, { env: [secret('LIMIT')] }).shutdownSeconds).toBe(expected);
  });

  test.each([
    ['12', 12],
    ['12.5', 13],
    ['soon', 60],
    ['', 60],
  ])('a variable of the resource that says %j', (value, expected) => {
    const env = [{ name: 'MCP_ADAPTER_SHUTDOWN_TIMEOUT_SECONDS', value }];
    expect(of({}, { env }).shutdownSeconds).toBe(expected);
  });
});

describe('connections', () => {
  test.each([
    ['http://notes/mcp', 'notes', [80]],
    ['https://Notes.Example.com./mcp', 'notes.example.com', [443]],
    ['http://notes:8080', 'notes', [8080]],
    ['https://[2001:DB8::1]:8443/mcp', '2001:db8::1', [8443]],
    ['https://user:p@ss@notes?x=@y', 'notes', [443]],
    ['http://user:${SECRET}@notes:81/mcp', 'notes', [81]],
    ['http://notes:82/${SECRET}/mcp', 'notes', [82]],
    ['http://${HOST:-notes}:83/mcp', 'notes', [83]],
    ['http://2130706433/', '127.0.0.1', [80]],
  ])('to %s', (url, host, ports) => {
    const { connections } = of({ servers: [server(url)] }, { env: [secret('SECRET')] });
    expect(connections).toEqual([{ field: 'servers[0].upstream.url', target: { host, ports } }]);
  });

  test.each([
    '${SECRET}',
    'http://${SECRET}/mcp',
    'http://notes:${SECRET}/mcp',
    '${SECRET}://notes',
    'http://',
    'http://a b/',
    7,
  ])('to %s cannot be known', (url) => {
    const { connections } = of({ servers: [server(url)] }, { env: [secret('SECRET')] });
    expect(connections).toEqual([{ field: 'servers[0].upstream.url', target: undefined }]);
  });

  const others = (config: Record<string, unknown>) => of(config, { env: [secret('SECRET')] }).connections.slice(1);

  test.each([
    [{ type: 'redis', redis: { host: 'Redis', port: '6380' } }, [{ host: 'redis', ports: [6380] }]],
    [{ type: 'redis', redis: { host: '::1' } }, [{ host: '::1', ports: [6379] }]],
    [{ type: 'redis', redis: { host: '${SECRET}' } }, [undefined]],
    [{ type: 'redis', redis: { host: 'redis', port: '${SECRET}' } }, [undefined]],
    [{ type: '${SECRET}', redis: { host: 'redis' } }, [{ host: 'redis', ports: [6379] }]],
    [{ type: '${SECRET}' }, []],
    [{ type: 'disk', redis: { host: 'redis' } }, []],
  ])('to Redis: %j', (state_persistence, targets) => {
    expect(others({ state_persistence }).map(({ target }) => target)).toEqual(targets);
  });

  test.each([
    [null, []],
    [{ bucket: 'files' }, [{ host: 's3.amazonaws.com', ports: [443] }]],
    [{ bucket: 'files', endpoint: null }, [{ host: 's3.amazonaws.com', ports: [443] }]],
    [{ bucket: '${SECRET}', endpoint: ' ' }, [{ host: 's3.amazonaws.com', ports: [443] }]],
    [{ bucket: 'files', endpoint: 'http://minio.tools:9000/' }, [{ host: 'minio.tools', ports: [9000] }]],
    // Who uses presigned URLs are others.
    [{ endpoint: 'https://minio', public_endpoint: 'https://s3.example.com:8443' }, [{ host: 'minio', ports: [443] }]],
    [{ bucket: 'files', endpoint: '${SECRET}' }, [undefined]],
    ['files', []],
  ])('to S3: %j', (s3, targets) => {
    expect(others({ storage: { s3 } }).map(({ target }) => target)).toEqual(targets);
  });

  test('to authorization servers, and where their keys and introspection are elsewhere', () => {
    const oauth = {
      issuer: 'https://id.example.com/realms/mcp',
      jwks_uri: 'http://keys:8080/keys',
      introspection: { endpoint: 'https://ask.example.com/x', client_id: 'a', client_secret: '${SECRET}' },
    };
    expect(others({ core: { auth: { oauth } } })).toEqual([
      { field: 'core.auth.oauth.issuer', target: { host: 'id.example.com', ports: [443] } },
      { field: 'core.auth.oauth.jwks_uri', target: { host: 'keys', ports: [8080] } },
      { field: 'core.auth.oauth.introspection.endpoint', target: { host: 'ask.example.com', ports: [443] } },
    ]);
  });

  test.each([
    [{ endpoint: 'http://otel:4317' }, []],
    [{ enabled: true }, []],
    [{ enabled: true, endpoint: 'otel:4319' }, [{ host: 'otel', ports: [4319] }]],
    [{ enabled: true, endpoint: 'https://otel' }, [{ host: 'otel', ports: [443, 4317] }]],
    [{ enabled: true, transport: 'http', endpoint: 'https://otel/v1/metrics' }, [{ host: 'otel', ports: [443] }]],
    [{ enabled: true, transport: 'http', logs_endpoint: 'http://logs/' }, []],
    [
      { enabled: true, transport: 'http', emit_logs: true, logs_endpoint: 'http://logs/' },
      [{ host: 'logs', ports: [80] }],
    ],
    [{ enabled: '${SECRET}', endpoint: 'http://otel:1' }, [{ host: 'otel', ports: [1] }]],
    [{ enabled: true, endpoint: '${SECRET}' }, [undefined]],
    [{ enabled: '${ON:-no}', endpoint: '${SECRET}' }, []],
    [{ enabled: true, traces: { endpoint: 'http://traces:1' } }, []],
    [{ enabled: true, traces: { enabled: true } }, []],
    [{ traces: { enabled: true, endpoint: 'http://traces:1' } }, []],
    [
      { enabled: true, endpoint: 'http://otel:1', traces: { enabled: 'true', endpoint: 'http://traces' } },
      [
        { host: 'otel', ports: [1] },
        { host: 'traces', ports: [80, 4317] },
      ],
    ],
    [
      { enabled: true, transport: 'http', traces: { enabled: '${SECRET}', endpoint: 'https://traces' } },
      [{ host: 'traces', ports: [443] }],
    ],
  ])('to a collector: %j', (telemetry, targets) => {
    expect(others({ telemetry }).map(({ target }) => target)).toEqual(targets);
  });
});

test.each([
  [undefined, undefined],
  [{}, undefined],
  [{ enabled: false, port: 1 }, undefined],
  [{ enabled: true }, { port: 9464, path: '/metrics' }],
  [
    { enabled: 'true', port: '${PORT}', path: '/m' },
    { port: 9100, path: '/m' },
  ],
  [
    { enabled: '${ON:-yes}', host: '0.0.0.0' },
    { port: 9464, path: '/metrics' },
  ],
  // Only other containers of the pod reach that.
  [{ enabled: true, host: '127.0.0.1' }, undefined],
  [{ enabled: true, host: '::1' }, undefined],
])('metrics for Prometheus with %j', (prometheus, metrics) => {
  const config = of({ telemetry: { prometheus } }, { env: [{ name: 'PORT', value: '9100' }] });
  expect(config.metrics).toEqual(metrics);
});

test.each([
  [{}, 0],
  [{ shutdown_drain_timeout_seconds: 30 }, 0],
  [{ prometheus: { enabled: true } }, 0],
  [{ enabled: true }, 10],
  [{ enabled: 'true', shutdown_drain_timeout_seconds: 2.5 }, 3],
  [{ enabled: '${SECRET}', shutdown_drain_timeout_seconds: '${SECRET}' }, 10],
])('time for telemetry at the end with %j', (telemetry, seconds) => {
  expect(of({ telemetry }, { env: [secret('SECRET')] }).telemetrySeconds).toBe(seconds);
});

test.each([
  [{ enabled: true }, undefined],
  [{ enabled: true, path: '/data/shared/audit.jsonl' }, undefined],
  [{ enabled: true, path: '/audit/calls.jsonl' }, '/audit/calls.jsonl'],
  [{ enabled: true, path: '${SECRET}' }, undefined],
  [{ path: '/audit/calls.jsonl' }, undefined],
])('an audit log with %j', (audit_log, path) => {
  expect(of({ telemetry: { audit_log } }, { env: [secret('SECRET')] }).auditPathOutside).toBe(path);
});

test.each([
  null,
  undefined,
  7,
  'text',
  [],
  {},
  { core: 7, storage: [], servers: {} },
  { servers: [null, 7, { upstream: 7 }] },
])('a configuration like %j does no harm', (config) => {
  const spec = { config } as unknown as McpAdapterSpec;
  expect(effectiveConfig(spec)).toMatchObject({ port: 8932, storageRoot: '/data/shared' });
});

test('authorization servers are known where their URL is written', () => {
  const oauth = (issuer: string) => ({ oauth: { issuer } });
  const servers = [server('http://a/mcp'), server('http://b/mcp', { auth: oauth('https://${ID}/x') })];
  const config = { core: { auth: { enabled: true, ...oauth(' https://${HOST}/ ') } }, servers };
  const env = [{ name: 'HOST', value: 'id.example.com' }, secret('ID')];
  expect(of(config, { env }).issuers).toEqual([
    { field: 'core.auth.oauth.issuer', url: 'https://id.example.com/' },
    { field: 'servers[1].auth.oauth.issuer', url: undefined },
  ]);
});
