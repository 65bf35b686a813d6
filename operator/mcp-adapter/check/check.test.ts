import { describe, expect, it } from 'vitest';
import { EMPTIED_VARIABLES, isCodeVariable } from '../../../crds/v1alpha1/code-variables.ts';
import { type Served, check } from './check.ts';
import { sampleAdapter } from '../testing/sample.ts';

const served: Served = { httpRoutes: true };

/** `path message` of each problem. */
function problems(values: Record<string, unknown>, available = served): string[] {
  const checked = check(sampleAdapter(values), available);
  return checked.ok ? [] : checked.problems.map(({ path, message }) => `${path} ${message}`);
}

const redis = { 'spec.config.state_persistence': { type: 'redis', redis: { host: 'redis' } } };
const bucket = { 'spec.config.storage': { s3: { bucket: 'files' } } };
const shared = { 'spec.storage': { claim: { size: '1Gi', accessModes: ['ReadWriteMany'] } } };
const METADATA = 'http://169.254.169.254/latest/meta-data/';
const server = { id: 'files', mount_path: '/mcp', upstream: { url: 'http://files:8000/mcp' } };

describe('several replicas on a claim that exists', () => {
  const values = { 'spec.replicas': 3, ...redis, 'spec.storage': { existingClaim: 'nfs' } };

  it.each<[readonly string[] | undefined, readonly string[]]>([
    [undefined, []],
    [['ReadWriteMany', 'ReadWriteOnce'], []],
    [
      ['ReadWriteOnce'],
      ['spec.storage.existingClaim is a claim with ReadWriteOnce; it must have ReadWriteMany with up to 3'],
    ],
  ])('of %j', (existingClaimModes, expected) => {
    expect(problems(values, { ...served, existingClaimModes })).toEqual(
      expected.map((text) => expect.stringContaining(text)),
    );
    expect(problems({ ...values, 'spec.replicas': 1 }, { ...served, existingClaimModes })).toEqual([]);
  });
});

describe('O8: an overlay that hides what the operator mounts', () => {
  const mounted = (mountPath: string, name: string) => ({
    'spec.podOverlay': { spec: { containers: [{ name: 'adapter', volumeMounts: [{ mountPath, name }] }] } },
  });
  const at = 'spec.podOverlay.spec.containers[0].volumeMounts[0].mountPath';

  it.each([
    ['/data/shared', {}, 'storage'],
    ['/data/shared/', {}, 'storage'],
    ['/files', { 'spec.config.storage': { root: '/files/' } }, 'storage'],
    ['/etc/mcp-adapter', {}, 'config'],
  ])('is refused at %s', (path, values, volume) => {
    expect(problems({ ...values, ...mounted(path, 'mine') })).toEqual([
      `${at} hides what the operator mounts there, the volume ${volume}; mount mine elsewhere, or lay another source over the volume ${volume}`,
    ]);
    expect(problems({ ...values, ...mounted(path, volume) })).toEqual([]);
  });

  it('is none beside it', () => {
    expect(problems(mounted('/data/shared/models', 'mine'))).toEqual([]);
  });
});

it('O8: a quantity that is none is refused with its field', () => {
  expect(problems({ 'spec.resources': { limits: { memory: '128MB' } } })).toEqual([
    expect.stringContaining('spec.resources.limits.memory is "128MB", which is no quantity'),
  ]);
});

describe('what is accepted', () => {
  it.each<[string, Record<string, unknown>]>([
    ['a small resource', {}],
    ['three replicas with Redis and shared storage', { 'spec.replicas': 3, ...redis, ...shared }],
    [
      'three replicas with an existing claim',
      { 'spec.replicas': 3, ...redis, 'spec.storage': { existingClaim: 'nfs' } },
    ],
    ['three replicas that share a bucket', { 'spec.replicas': 3, ...redis, ...bucket }],
    ['no replica', { 'spec.replicas': 0 }],
    [
      'a variable that spec.env declares',
      { 'spec.config.servers': [{ ...server, id: '${ID}' }], 'spec.env': [{ name: 'ID', value: 'x' }] },
    ],
    ['a variable with a default', { 'spec.config.core': { public_base_url: '${URL:-https://x.example}' } }],
    [
      'any variable with envFrom',
      { 'spec.config.core': { public_base_url: '${URL}' }, 'spec.envFrom': [{ secretRef: { name: 's' } }] },
    ],
    [
      'a variable with the prefix of envFrom',
      {
        'spec.config.core': { public_base_url: '${A_URL}' },
        'spec.envFrom': [{ prefix: 'A_', configMapRef: { name: 's' } }],
      },
    ],
    [
      'a variable that the overlay declares',
      {
        'spec.config.core': { public_base_url: 'http://${POD_IP}' },
        'spec.podOverlay': {
          spec: {
            containers: [
              { name: 'adapter', env: [{ name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } }] },
            ],
          },
        },
      },
    ],
    [
      'a sidecar',
      { 'spec.podOverlay': { spec: { containers: [{ name: 'upstream', image: 'x', command: ['serve'] }] } } },
    ],
    ['an HTTPRoute', { 'spec.httpRoute': { parentRefs: [{ name: 'gateway' }] } }],
    ['a regular expression of tools', { 'spec.config.servers': [{ ...server, disabled_tools: ['delete_.*'] }] }],
    [
      'a pattern that comes from the environment',
      {
        'spec.config.servers': [{ ...server, disabled_tools: ['(${P}'] }],
        'spec.env': [{ name: 'P', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }],
      },
    ],
    [
      'a type of state that comes from the environment',
      { 'spec.config.state_persistence': { type: '${T:-redis}' }, 'spec.replicas': 2, ...shared },
    ],
    [
      'secrets that come from variables',
      {
        'spec.config.core': { auth: { enabled: true, token: '${A}', signing_secret: 'v1-${B}' } },
        'spec.env': [
          { name: 'A', value: 'for-a-try' },
          { name: 'B', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } },
        ],
      },
    ],
    ['no secret', { 'spec.config.core': { auth: { enabled: false, token: null, signing_secret: null } } }],
    [
      'an upstream in a private range',
      { 'spec.config.servers': [{ ...server, upstream: { url: 'http://10.0.0.7/mcp' } }] },
    ],
    ['every address', { 'spec.config.core': { host: '::' } }],
    ['a folder beside the reserved ones', { 'spec.config.storage': { root: '/application/data' } }],
  ])('%s', (_, values) => {
    expect(problems(values)).toEqual([]);
  });
});

describe('what is refused, with the field and what to do', () => {
  it.each<[string, Record<string, unknown>, string]>([
    [
      'a name that is too long for a Service',
      { 'metadata.name': 'a'.repeat(53) },
      'metadata.name must be a DNS label of at most 52 characters',
    ],
    ['a name with a dot', { 'metadata.name': 'a.b' }, 'metadata.name must be a DNS label'],
    ['no configuration', { 'spec.config': undefined }, 'spec.config is required'],
    ['no server', { 'spec.config.servers': [] }, 'spec.config.servers must be a list with at least one server'],
    [
      'an unknown key',
      { 'spec.config.core': { prot: 1 } },
      'spec.config.core.prot is not a known key; did you mean port?',
    ],
    ['an unknown field of the spec', { 'spec.replica': 1 }, 'spec.replica is not a known key; did you mean replicas?'],
    [
      'a URL without a scheme',
      { 'spec.config.servers': [{ ...server, upstream: { url: 'files:8000' } }] },
      'spec.config.servers[0].upstream.url must be an absolute http',
    ],
    [
      'two servers with one id',
      { 'spec.config.servers': [server, { ...server, mount_path: '/b' }] },
      'spec.config.servers[1].id is also the id of servers[0]',
    ],
    [
      'two servers at one path',
      { 'spec.config.servers': [server, { ...server, id: 'b' }] },
      'spec.config.servers[1].mount_path is the same as servers[0].mount_path',
    ],
    [
      'a server where uploads go',
      { 'spec.config.servers': [server, { ...server, id: 'b', mount_path: '/upload/b' }] },
      'spec.config.servers[1].mount_path lies below or above core.upload_path',
    ],
    [
      'authentication without a token',
      { 'spec.config.core': { auth: { enabled: true } } },
      'spec.config.core.auth.token is required',
    ],
    [
      'a token that is written out',
      { 'spec.config.core': { auth: { enabled: true, token: 'hunter2' } } },
      'spec.config.core.auth.token is a secret and has no place in this resource: put it into a Secret, name that in spec.env as TOKEN, and write ${TOKEN} for it here',
    ],
    [
      'a token that is written out, while nobody needs it',
      { 'spec.config.core': { auth: { enabled: false, token: 'hunter2' } } },
      'spec.config.core.auth.token is a secret',
    ],
    [
      'a token with a default',
      { 'spec.config.core': { auth: { enabled: true, token: '${TOKEN:-hunter2}' } } },
      'spec.config.core.auth.token is a secret',
    ],
    [
      'a signing secret that is written out',
      { 'spec.config.core': { auth: { signing_secret: 'hunter2' } } },
      'spec.config.core.auth.signing_secret is a secret and has no place in this resource',
    ],
    [
      'an undeclared variable',
      { 'spec.config.core': { public_base_url: '${URL}' } },
      'spec.config.core.public_base_url refers to the variable URL, which neither',
    ],
    [
      'a variable without the prefix of envFrom',
      {
        'spec.config.core': { public_base_url: '${URL}' },
        'spec.envFrom': [{ prefix: 'A_', secretRef: { name: 's' } }],
      },
      'refers to the variable URL',
    ],
    [
      'a loopback address',
      { 'spec.config.core': { host: '127.0.0.1' } },
      'spec.config.core.host is 127.0.0.1, a loopback address',
    ],
    [
      'the loopback address of IPv6',
      { 'spec.config.core': { host: '::1' } },
      'spec.config.core.host is ::1, a loopback address',
    ],
    [
      'an upstream where clouds keep credentials',
      { 'spec.config.servers': [server, { ...server, id: 'b', mount_path: '/b', upstream: { url: METADATA } }] },
      'spec.config.servers[1].upstream.url leads to 169.254.169.254',
    ],
    [
      'the same as a number',
      { 'spec.config.servers': [{ ...server, upstream: { url: 'http://0xA9FEA9FE/mcp' } }] },
      'spec.config.servers[0].upstream.url leads to 169.254.169.254',
    ],
    [
      'the same as IPv6',
      { 'spec.config.servers': [{ ...server, upstream: { url: 'http://[::ffff:169.254.169.254]/mcp' } }] },
      'spec.config.servers[0].upstream.url leads to ::ffff:a9fe:a9fe',
    ],
    [
      'the same from a variable whose value stands there',
      {
        'spec.config.servers': [{ ...server, upstream: { url: 'http://${H}/mcp' } }],
        'spec.env': [{ name: 'H', value: '[fd00:ec2::254]' }],
      },
      'spec.config.servers[0].upstream.url leads to fd00:ec2::254',
    ],
    [
      'a link-local collector',
      { 'spec.config.telemetry': { enabled: true, endpoint: 'http://[fe80::1]:4317' } },
      'spec.config.telemetry.endpoint leads to fe80::1',
    ],
    [
      'a port for metrics from the environment',
      {
        'spec.config.telemetry': { prometheus: { enabled: true, port: '${X}' } },
        'spec.envFrom': [{ secretRef: { name: 's' } }],
      },
      'spec.config.telemetry.prometheus.port must not depend on a Secret',
    ],
    [
      'a storage root from the environment',
      { 'spec.config.storage': { root: '/data/${X}' }, 'spec.envFrom': [{ secretRef: { name: 's' } }] },
      'spec.config.storage.root must not depend on a Secret',
    ],
    [
      'a relative storage root',
      { 'spec.config.storage': { root: 'data' } },
      'spec.config.storage.root must be an absolute path',
    ],
    [
      'a storage root with ..',
      { 'spec.config.storage': { root: '/a/../etc' } },
      'spec.config.storage.root must be an absolute path',
    ],
    [
      'a storage root over the configuration',
      { 'spec.config.storage': { root: '/etc' } },
      'spec.config.storage.root overlaps with /etc/mcp-adapter',
    ],
    [
      'several replicas with state on disk',
      { 'spec.replicas': 2, ...shared },
      'spec.config.state_persistence.type must be redis with up to 2 replicas (spec.replicas), not disk',
    ],
    [
      'several replicas without storage',
      { 'spec.replicas': 2, ...redis },
      'spec.storage needs claim or existingClaim with up to 2 replicas',
    ],
    [
      'several replicas with storage of one node',
      { 'spec.replicas': 2, ...redis, 'spec.storage': { claim: { size: '1Gi' } } },
      'spec.storage.claim.accessModes must hold ReadWriteMany',
    ],
    [
      'several replicas with a bucket and a claim of one node',
      { 'spec.replicas': 2, ...redis, ...bucket, 'spec.storage': { claim: { size: '1Gi' } } },
      'spec.storage.claim.accessModes must hold ReadWriteMany',
    ],
    [
      'autoscaling with state in memory',
      { 'spec.autoscaling': { maxReplicas: 5 }, 'spec.config.state_persistence': { type: 'memory' }, ...shared },
      'must be redis with up to 5 replicas (spec.autoscaling.maxReplicas), not memory',
    ],
    [
      'fewer replicas at most than at least',
      { 'spec.autoscaling': { minReplicas: 2, maxReplicas: 1 } },
      'spec.autoscaling.minReplicas is 2, more than maxReplicas (1)',
    ],
    [
      'two kinds of storage',
      { 'spec.storage': { temporary: {}, existingClaim: 'x' } },
      'spec.storage can have only one of claim, existingClaim, temporary',
    ],
    [
      'two budgets',
      { 'spec.disruptionBudget': { minAvailable: 1, maxUnavailable: 1 } },
      'spec.disruptionBudget can have only one of',
    ],
    [
      'a variable twice',
      {
        'spec.env': [
          { name: 'A', value: '1' },
          { name: 'A', value: '2' },
        ],
      },
      'spec.env[1].name is also the name of spec.env[0]',
    ],
    [
      'a variable with value and source',
      { 'spec.env': [{ name: 'A', value: '1', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }] },
      'spec.env[0] can have only one of value, valueFrom',
    ],
    [
      'a variable from nowhere',
      { 'spec.env': [{ name: 'A', valueFrom: {} }] },
      'spec.env[0].valueFrom needs one of secretKeyRef, configMapKeyRef',
    ],
    [
      'a source of variables without an object',
      { 'spec.envFrom': [{ prefix: 'A_' }] },
      'spec.envFrom[0] needs one of secretRef, configMapRef',
    ],
    [
      'a node port of an internal Service',
      { 'spec.service': { nodePort: 30_000 } },
      'spec.service.nodePort needs spec.service.type NodePort',
    ],
    [
      'an invalid pattern of tools',
      { 'spec.config.servers': [{ ...server, disabled_tools: ['ok', '('] }] },
      'spec.config.servers[0].disabled_tools[1] is no valid regular expression',
    ],
    ['an HTTPRoute that is no object', { 'spec.httpRoute': { parentRefs: [] } }, 'spec.httpRoute.parentRefs must be'],
    [
      'labels of the operator in the overlay',
      { 'spec.podOverlay': { metadata: { labels: { 'mcpadapter.io/adapter': 'x' } } } },
      'spec.podOverlay.metadata.labels["mcpadapter.io/adapter"] belongs to the operator',
    ],
    [
      'annotations of the operator in the overlay',
      { 'spec.podOverlay': { metadata: { annotations: { 'mcpadapter.io/config-hash': 'x' } } } },
      'belongs to the operator',
    ],
    [
      'a container without a name',
      { 'spec.podOverlay': { spec: { containers: [{ image: 'x' }] } } },
      'spec.podOverlay.spec.containers[0] needs a name',
    ],
    [
      'two volumes of one name',
      { 'spec.podOverlay': { spec: { volumes: [{ name: 'a' }, { name: 'a' }] } } },
      'spec.podOverlay.spec.volumes[1].name is there twice',
    ],
    [
      'containers that are no list',
      { 'spec.podOverlay': { spec: { containers: {} } } },
      'spec.podOverlay.spec.containers must be a list',
    ],
    [
      'pods that end',
      { 'spec.podOverlay': { spec: { restartPolicy: 'Never' } } },
      'spec.podOverlay.spec.restartPolicy can only be Always',
    ],
    [
      'another port named http',
      {
        'spec.podOverlay': { spec: { containers: [{ name: 'adapter', ports: [{ name: 'http', containerPort: 1 }] }] } },
      },
      'spec.podOverlay.spec.containers[0].ports must leave the port http alone',
    ],
  ])('%s', (_, values, expected) => {
    expect(problems(values).join('\n')).toContain(expected);
  });

  it('says everything at once', () => {
    const found = problems({ 'spec.replicas': -1, 'spec.config.core': { port: 0, host: '127.0.0.1' } });
    expect(found).toHaveLength(3);
  });

  it('T9: never shows what may be a secret', () => {
    const token = ' s3cret ';
    const config = { auth: { enabled: true, token, signing_secret: 5 } };
    expect(
      problems({ 'spec.config.core': config, 'spec.env': [{ name: 'A', value: { s3cret: 1 } }] }).join(),
    ).not.toContain('s3cret');
    const secrets = { auth: { enabled: true, token: 's3cret', signing_secret: '${A:-s3cret}' } };
    expect(problems({ 'spec.config.core': secrets })).toHaveLength(2);
    expect(problems({ 'spec.config.core': secrets }).join()).not.toContain('s3cret');
  });
});

describe('the reason', () => {
  const reason = (values: Record<string, unknown>, httpRoutes = true): string => {
    const checked = check(sampleAdapter(values), { httpRoutes });
    return checked.ok ? 'ok' : checked.reason;
  };

  it('is UndeclaredVariable when only variables are missing', () => {
    expect(reason({ 'spec.config.core': { public_base_url: '${URL}' } })).toBe('UndeclaredVariable');
    expect(reason({ 'spec.config.core': { public_base_url: '${URL}', port: 0 } })).toBe('InvalidSpec');
  });

  it('is ApiMissing when only the Gateway API is missing', () => {
    const route = { 'spec.httpRoute': { parentRefs: [{ name: 'gateway' }] } };
    expect(reason(route, false)).toBe('ApiMissing');
    expect(problems(route, { httpRoutes: false })).toEqual([
      expect.stringContaining('spec.httpRoute needs the Gateway API'),
    ]);
  });
});

describe('a resource of any shape', () => {
  it.each([
    null,
    undefined,
    1,
    'text',
    [],
    [[]],
    { a: null },
    { config: null, env: 'x', storage: [], podOverlay: 5 },
    { config: { servers: 'x', core: [] }, envFrom: [null], replicas: 'x' },
  ])('is refused without an exception: %j', (spec) => {
    expect(check({ ...sampleAdapter(), spec }, served).ok).toBe(false);
  });
});

describe('O15 T22: variables that are code or change trust', () => {
  const NAMES =
    'NODE_OPTIONS NODE_EXTRA_CA_CERTS NODE_TLS_REJECT_UNAUTHORIZED LD_PRELOAD LD_LIBRARY_PATH PATH HTTP_PROXY https_proxy NO_PROXY all_proxy SSL_CERT_FILE OPENSSL_CONF GCONV_PATH'.split(
      ' ',
    );

  it.each(NAMES)('%s is refused', (name) => {
    expect(problems({ 'spec.env': [{ name, value: '--import=data:text/javascript,code' }] })).toEqual([
      expect.stringContaining(`spec.env[0].name is ${name}, which changes what the adapter runs or whom it trusts`),
    ]);
  });

  it.each(['NODE', 'MY_NODE_OPTIONS', 'PATH_PREFIX', 'PROXY', 'SSL', 'LDAP_URL'])('%s is not', (name) => {
    expect(problems({ 'spec.env': [{ name, value: 'x' }] })).toEqual([]);
  });

  it('empties each refused name that it knows of', () => {
    expect(EMPTIED_VARIABLES.filter((name) => !isCodeVariable(name))).toEqual([]);
  });
});
