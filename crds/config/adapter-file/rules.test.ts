import { describe, expect, it } from 'vitest';
import { load, problemsOf, sampleWith, toYaml } from '../testing/adapter-config.ts';

interface Case {
  name: string;
  values: Record<string, unknown>;
  /** Paths of the problems, each with a part of its message; none when the values are allowed together. */
  problems: [path: string, part: string][];
}

const server = (id: string, mount_path: string) => ({ id, mount_path, upstream: { url: 'http://x/mcp' } });

const files = { type: 'files', tools: ['*'] };
const found = { relative_to: '/data' };
const roles: Case[] = [
  {
    name: 'files that are found by a pattern and by a key',
    values: { 'servers[0].adapters': [{ ...files, found: [{ ...found, pattern: 'x', path_key: 'y' }, found] }] },
    problems: [
      ['servers[0].adapters[0].found[0].pattern', 'must be there or path_key, and not both'],
      ['servers[0].adapters[0].found[1].pattern', 'must be there or path_key, and not both'],
    ],
  },
  {
    name: 'files that are written while artifacts are off',
    values: {
      'artifacts.enabled': false,
      'servers[0].adapters': [{ ...files, arguments: { a: 'in', b: 'edit' }, found: [{ ...found, path_key: 'y' }] }],
    },
    problems: [
      ['servers[0].adapters[0].arguments.b', 'needs artifacts.enabled'],
      ['servers[0].adapters[0].found', 'needs artifacts.enabled'],
    ],
  },
  {
    name: 'profiles whose tools write while artifacts are off',
    values: {
      'artifacts.enabled': false,
      servers: [
        { ...server('a', '/a'), profile: 'excel' },
        { ...server('b', '/b'), profile: 'markitdown' },
      ],
    },
    problems: [['servers[0].profile', 'needs artifacts.enabled']],
  },
  {
    name: 'a profile without the folder that it needs',
    values: { 'servers[0].profile': { name: 'playwright' } },
    problems: [['servers[0].profile', 'needs the folder that the server writes to, as the adapter sees it']],
  },
];

const auth: Case[] = [
  {
    name: 'auth without a token',
    values: { 'core.auth': { enabled: true } },
    problems: [['core.auth.token', 'is required']],
  },
  {
    name: 'auth with null',
    values: { 'core.auth': { enabled: true, token: null } },
    problems: [['core.auth.token', 'is required']],
  },
  {
    name: 'auth with an empty token',
    values: { 'core.auth': { enabled: true, token: '' } },
    problems: [['core.auth.token', 'must not be blank']],
  },
  {
    name: 'auth with a blank token',
    values: { 'core.auth': { enabled: 'yes', token: ' \t' } },
    problems: [['core.auth.token', 'must not be blank']],
  },
  {
    name: 'a token that no header can equal',
    values: { 'core.auth': { enabled: true, token: 'abc\n' } },
    problems: [['core.auth.token', 'white space around it']],
  },
  {
    name: 'a token with a space around it',
    values: { 'core.auth': { enabled: true, token: 'abc ' } },
    problems: [['core.auth.token', 'white space around it']],
  },
  {
    name: 'a token with a line break inside',
    values: { 'core.auth': { enabled: true, token: 'a\nb' } },
    problems: [['core.auth.token', 'control characters']],
  },
  {
    name: 'a token that no header can hold',
    values: { 'core.auth': { enabled: true, token: 'geheim€' } },
    problems: [['core.auth.token', 'beyond ASCII']],
  },
  {
    name: 'a token that clients write differently',
    values: { 'core.auth': { enabled: true, token: 'gehüim' } },
    problems: [['core.auth.token', 'beyond ASCII']],
  },
  {
    name: 'auth with a token that has a name',
    values: { 'core.auth': { enabled: true, tokens: [{ name: 'ci', token: 'abc' }] } },
    problems: [],
  },
  {
    name: 'two tokens of one name, and one token twice',
    values: {
      'core.auth': {
        enabled: true,
        token: 'abc',
        tokens: [
          { name: 'ci', token: 'abc' },
          { name: 'ci', token: 'def' },
          { name: 'cd', token: 'def' },
        ],
      },
    },
    problems: [
      ['core.auth.tokens[0].token', 'is the same as core.auth.token'],
      ['core.auth.tokens[1].name', 'is also the name of core.auth.tokens[0]'],
      ['core.auth.tokens[2].token', 'is the same as core.auth.tokens[1]'],
    ],
  },
  {
    name: 'auth with an authorization server alone',
    values: { 'core.auth': { enabled: true, oauth: { issuer: 'https://id', audiences: ['mcp'] } } },
    problems: [],
  },
  {
    name: 'audiences that the URL of each mount stands for',
    values: { 'core.public_base_url': 'https://mcp', 'core.auth': { enabled: true, oauth: { issuer: 'https://id' } } },
    problems: [],
  },
  {
    name: 'servers that each have an authorization server',
    values: {
      'core.auth': { enabled: true },
      'servers[0].auth': { oauth: { issuer: 'https://id', audiences: ['mcp'] } },
    },
    problems: [],
  },
  {
    name: 'T4: tokens for the adapter that are sent on',
    values: {
      'core.auth': { enabled: true, oauth: { issuer: 'https://id', audiences: ['mcp'] } },
      'servers[0].upstream.client_headers': { passthrough: ['authorization'], unsafe: true },
    },
    problems: [['core.auth.oauth', 'is not sent on']],
  },
  ...['Authorization', ' authorization '].map((name) => ({
    name: `T4: credentials that are passed on as if that were nothing (${name})`,
    values: { 'servers[0].upstream.client_headers': { passthrough: ['X-User', name] } },
    problems: [['servers[0].upstream.client_headers.passthrough[1]', 'write `unsafe: true` beside passthrough']] as [
      string,
      string,
    ][],
  })),
  {
    name: 'credentials that are passed on to an upstream that they are for',
    values: { 'servers[0].upstream.client_headers': { passthrough: ['Authorization'], unsafe: true } },
    problems: [],
  },
  {
    name: 'limits that limit nothing',
    values: {
      'core.limits': [{ per: 'caller' }, { per: 'server', concurrent: 1 }],
      'servers[0].limits': [{ per: 'tool', rate: null, burst: 5 }],
    },
    problems: [
      ['servers[0].limits[0]', 'limits nothing'],
      ['servers[0].limits[0].burst', 'says nothing without a rate'],
      ['core.limits[0]', 'limits nothing'],
    ],
  },
  {
    name: 'a burst beside something else than a rate',
    values: { 'core.limits': [{ per: 'caller', concurrent: 1, burst: 5 }] },
    problems: [['core.limits[0].burst', 'says nothing without a rate']],
  },
  {
    name: 'more limits than anybody needs',
    values: { 'core.limits': Array.from({ length: 17 }, () => ({ per: 'server', rate: '1/s' })) },
    problems: [['core.limits', 'at most 16']],
  },
  {
    name: 'as many limits as there may be',
    values: { 'core.limits': Array.from({ length: 16 }, () => ({ per: 'server', rate: '1/s' })) },
    problems: [],
  },
  {
    name: 'room for less than one body',
    values: { 'core.max_body_bytes_in_flight': '1Mi' },
    problems: [['core.max_body_bytes_in_flight', 'must not be less than core.max_request_body_bytes (16777216)']],
  },
  {
    name: 'room for one body',
    values: { 'core.max_body_bytes_in_flight': '16Mi' },
    problems: [],
  },
  {
    name: 'a signing secret instead of a token',
    values: { 'core.auth': { enabled: true, signing_secret: 's' } },
    problems: [['core.auth.token', 'is required']],
  },
  { name: 'a blank token without auth', values: { 'core.auth': { enabled: false, token: ' ' } }, problems: [] },
  { name: 'auth with a token', values: { 'core.auth': { enabled: true, token: 'a b' } }, problems: [] },
];

const cors: Case[] = [
  {
    name: 'credentials for any origin',
    values: { 'core.cors': { allow_credentials: true, allowed_origins: ['*'] } },
    problems: [['core.cors.allow_credentials', 'must be false']],
  },
  {
    name: 'credentials for any origin among others',
    values: { 'core.cors': { allow_credentials: 'on', allowed_origins: ['https://a', ' * '] } },
    problems: [['core.cors.allow_credentials', 'must be false']],
  },
  {
    name: 'credentials for named origins',
    values: { 'core.cors': { allow_credentials: true, allowed_origins: ['https://a'] } },
    problems: [],
  },
  { name: 'any origin without credentials', values: { 'core.cors': { allowed_origins: ['*'] } }, problems: [] },
];

const telemetry: Case[] = [
  {
    name: 'host:port with http',
    values: {
      telemetry: { transport: 'http', endpoint: 'c:4318', logs_endpoint: 'c:4318', traces: { endpoint: 'c:1' } },
    },
    problems: [
      ['telemetry.endpoint', 'must start with http://'],
      ['telemetry.logs_endpoint', 'must start with http://'],
      ['telemetry.traces.endpoint', 'must start with http://'],
    ],
  },
  {
    name: 'traces without telemetry',
    values: { 'telemetry.traces': { enabled: true } },
    problems: [['telemetry.traces.enabled', 'only when telemetry.enabled is true']],
  },
  { name: 'traces with telemetry', values: { telemetry: { enabled: true, traces: { enabled: true } } }, problems: [] },
  {
    name: 'metrics on the port of the adapter',
    values: { 'core.port': 9464, 'telemetry.prometheus': { enabled: true } },
    problems: [['telemetry.prometheus.port', 'is also core.port (9464)']],
  },
  { name: 'the port of metrics that nobody serves', values: { 'core.port': 9464 }, problems: [] },
  { name: 'host:port with grpc', values: { telemetry: { endpoint: 'c:4317' } }, problems: [] },
  {
    name: 'a URL with http',
    values: { telemetry: { transport: 'http', endpoint: 'HTTP://c:4318/v1/metrics' } },
    problems: [],
  },
];

const state: Case[] = [
  {
    name: 'redis without a host',
    values: { 'state_persistence.type': 'redis' },
    problems: [['state_persistence.redis.host', 'is required when state_persistence.type is redis']],
  },
  {
    name: 'redis with a host',
    values: { state_persistence: { type: 'redis', redis: { host: 'r' } }, storage: { lock_mode: 'redis' } },
    problems: [],
  },
  {
    name: 'redis locks with disk',
    values: { 'storage.lock_mode': 'redis' },
    problems: [['storage.lock_mode', 'not disk']],
  },
  {
    name: 'redis locks with memory',
    values: { 'storage.lock_mode': 'redis', 'state_persistence.type': 'memory' },
    problems: [['storage.lock_mode', 'not memory']],
  },
  {
    name: 'an unknown owner of legacy files',
    values: { 'state_persistence.reconciliation.legacy_server_id': 'file' },
    problems: [['state_persistence.reconciliation.legacy_server_id', 'is not the id of a configured server (files)']],
  },
  {
    name: 'a known owner of legacy files',
    values: { 'state_persistence.reconciliation.legacy_server_id': 'files' },
    problems: [],
  },
  {
    name: 'configured roots without roots',
    values: { 'storage.artifact_locator_policy': 'allow_configured_roots' },
    problems: [['storage.artifact_locator_allowed_roots', 'at least one folder']],
  },
  {
    name: 'configured roots with blank roots',
    values: {
      storage: { artifact_locator_policy: 'allow_configured_roots', artifact_locator_allowed_roots: ['', ' '] },
    },
    problems: [['storage.artifact_locator_allowed_roots', 'at least one folder']],
  },
];

const servers: Case[] = [
  { name: 'no servers', values: { servers: [] }, problems: [['servers', 'at least one server']] },
  {
    name: 'servers that are no list',
    values: { servers: { files: server('files', '/a') } },
    problems: [['servers', 'a list with at least one server']],
  },
  {
    name: 'servers without a value',
    values: { servers: null },
    problems: [['servers', 'a list with at least one server']],
  },
  {
    name: 'the same id twice',
    values: { servers: [server('a', '/a'), server(' a ', '/b'), server('a', '/c')] },
    problems: [
      ['servers[1].id', 'also the id of servers[0]'],
      ['servers[2].id', 'also the id of servers[0]'],
    ],
  },
  { name: 'ids that differ in case', values: { servers: [server('a', '/a'), server('A', '/b')] }, problems: [] },
  {
    name: 'the same path twice',
    values: { servers: [server('a', '/a'), server('b', 'a/')] },
    problems: [['servers[1].mount_path', 'is the same as servers[0].mount_path (/a)']],
  },
  {
    name: 'paths below and above others',
    values: { servers: [server('a', '/mcp/a'), server('b', '/mcp'), server('c', '/mcp/a/c')] },
    problems: [],
  },
  {
    name: 'paths that only start alike',
    values: { servers: [server('a', '/mcp'), server('b', '/mcp2'), server('c', '/m')] },
    problems: [],
  },
  { name: 'siblings', values: { servers: [server('a', '/mcp/a'), server('b', '/mcp/b')] }, problems: [] },
  ...['/upload', '/upload/x', '/artifacts', '/artifacts/a', '/healthz', '/healthz/x', '/livez', '/readyz'].map(
    (path) => ({
      name: `a mount at ${path}`,
      values: { 'servers[0].mount_path': path, 'core.allow_artifacts_download': true },
      problems: [['servers[0].mount_path', path.split('/')[1] ?? '']] satisfies Case['problems'],
    }),
  ),
  ...['/artifacts', '/artifacts/a'].map((path) => ({
    name: `a mount at ${path} without downloads`,
    values: { 'servers[0].mount_path': path },
    problems: [],
  })),
  {
    name: 'uploads below a mount',
    values: { 'core.upload_path': '/mcp/upload' },
    problems: [['servers[0].mount_path', 'lies below or above core.upload_path (/mcp/upload)']],
  },
  {
    name: 'uploads at a path of the adapter',
    values: { 'core.upload_path': 'artifacts', 'core.allow_artifacts_download': true },
    problems: [['core.upload_path', 'is the same as /artifacts, which the adapter serves itself']],
  },
  {
    name: 'uploads elsewhere',
    values: { 'core.upload_path': '/in', 'servers[0].mount_path': '/upload' },
    problems: [],
  },
];

const entry = 'servers[0].adapters[0]';
const producer = 'servers[0].adapters[1]';
const bucket = { bucket: 'files' };

const entries: Case[] = [
  {
    name: 'handles that uploads do not make',
    values: { 'uploads.uri_scheme': 'in://' },
    problems: [[`${entry}.uri_scheme`, 'uploads.uri_scheme, which is in://']],
  },
  {
    name: 'handles that uploads make',
    values: { 'uploads.uri_scheme': 'IN://', [`${entry}.uri_scheme`]: ' in:// ' },
    problems: [],
  },
  ...[
    [true, 'path'],
    [true, 'url'],
    [false, 'file_uri'],
  ].map(([prefix, form]) => ({
    name: `files as ${String(form)} with uri_prefix ${String(prefix)}`,
    values: { 'storage.s3': bucket, [`${entry}.uri_prefix`]: prefix, [`${entry}.pass_as`]: form },
    problems: [
      [`${entry}.pass_as`, `is ${String(form)}, which contradicts uri_prefix ${String(prefix)}`],
    ] satisfies Case['problems'],
  })),
  ...[
    [true, 'file_uri'],
    [true, null],
    [false, 'path'],
    [false, 'url'],
    [null, 'file_uri'],
    [null, 'url'],
  ].map(([prefix, form]) => ({
    name: `files as ${String(form)} with uri_prefix ${String(prefix)}`,
    values: { 'storage.s3': bucket, [`${entry}.uri_prefix`]: prefix, [`${entry}.pass_as`]: form },
    problems: [],
  })),
  {
    name: 'files as URLs without a bucket',
    values: { [`${entry}.pass_as`]: 'url' },
    problems: [[`${entry}.pass_as`, 'can be url only when storage.s3 is set']],
  },
  {
    name: 'structured without a key',
    values: { [`${producer}.output_locator`]: { mode: 'structured' } },
    problems: [[`${producer}.output_locator.output_path_key`, 'is required']],
  },
  {
    name: 'structured with a blank key',
    values: { [`${producer}.output_locator`]: { mode: 'structured', output_path_key: ' ' } },
    problems: [[`${producer}.output_locator.output_path_key`, 'is required']],
  },
  {
    name: 'structured without a key but with an argument',
    values: { [`${producer}.output_locator`]: { mode: 'structured' }, [`${producer}.output_path_argument`]: 'out' },
    problems: [],
  },
  { name: 'regex without a key', values: { [`${producer}.output_locator`]: { mode: 'regex' } }, problems: [] },
  {
    name: 'the old name against the new one',
    values: { [`${producer}.allow_raw_output`]: true, [`${producer}.include_raw_output`]: false },
    problems: [[`${producer}.include_raw_output`, 'contradicts allow_raw_output']],
  },
  {
    name: 'an entry without a type',
    values: { [`${entry}.type`]: undefined },
    problems: [[`${entry}.type`, 'is required: one of upload_consumer, artifact_producer']],
  },
  {
    name: 'an entry that is no mapping',
    values: { [entry]: 'upload_consumer' },
    problems: [[entry, 'must be a mapping with type']],
  },
  {
    name: 'a key of the other type',
    values: { [`${entry}.persist`]: true },
    problems: [[`${entry}.persist`, 'is not a known key']],
  },
];

describe('rules about several fields', () => {
  it.each([...auth, ...roles, ...cors, ...telemetry, ...state, ...servers, ...entries])(
    '$name',
    ({ values, problems }) => {
      const found = problemsOf(toYaml(sampleWith(values)));
      expect(found.map(({ path }) => path)).toEqual(problems.map(([path]) => path));
      for (const [index, [, part]] of problems.entries()) expect(found[index]?.message).toContain(part);
    },
  );

  it('reads the old name of allow_raw_output', () => {
    for (const [old, now, result] of [
      [true, undefined, true],
      ['no', null, false],
      [true, true, true],
      [null, false, false],
    ]) {
      const config = load(
        sampleWith({ [`${producer}.include_raw_output`]: old, [`${producer}.allow_raw_output`]: now }),
      );
      expect(config.servers[0]?.adapters[1]).toMatchObject({ allow_raw_output: result });
    }
  });
});

describe('rules beside other problems', () => {
  it('are still checked', () => {
    const found = problemsOf(
      toYaml(
        sampleWith({
          'core.port': 0,
          'core.auth': { enabled: true, tokn: 'x' },
          'servers[0].mount_path': '/healthz',
          'servers[0].adapters[0].tools': [],
        }),
      ),
    );
    expect(found.map(({ path }) => path).sort()).toEqual([
      'core.auth.token',
      'core.auth.tokn',
      'core.port',
      'servers[0].adapters[0].tools',
      'servers[0].mount_path',
    ]);
  });

  it.each([
    { name: 'auth that is neither on nor off', values: { 'core.auth.enabled': 'maybe' }, path: 'core.auth.enabled' },
    {
      name: 'an invalid id',
      values: { 'servers[0].id': '', 'state_persistence.reconciliation.legacy_server_id': 'x' },
      path: 'servers[0].id',
    },
    {
      name: 'an invalid store',
      values: { 'state_persistence.type': 'etcd', 'storage.lock_mode': 'redis' },
      path: 'state_persistence.type',
    },
    {
      name: 'an invalid list of roots',
      values: {
        'storage.artifact_locator_policy': 'allow_configured_roots',
        'storage.artifact_locator_allowed_roots': 5,
      },
      path: 'storage.artifact_locator_allowed_roots',
    },
    { name: 'a section that is no mapping', values: { core: [] }, path: 'core' },
    {
      name: 'an invalid bucket',
      values: { 'storage.s3': { bucket: '' }, 'servers[0].adapters[0].pass_as': 'url' },
      path: 'storage.s3.bucket',
    },
    { name: 'an invalid scheme', values: { 'uploads.uri_scheme': 'x' }, path: 'uploads.uri_scheme' },
  ])('do not judge $name', ({ values, path }) => {
    expect(problemsOf(toYaml(sampleWith(values))).map((problem) => problem.path)).toEqual([path]);
  });
});
