import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
// oxlint-disable-next-line no-restricted-imports -- only a real API server knows what it makes of a CustomResourceDefinition
import { type ApiServer, startApiServer } from '../../e2e/cluster/api-server.ts';
import { AdapterConfig } from '../config/adapter-file/adapter.ts';
import { loadAdapterConfig } from '../config/load/load.ts';
import { get, sampleWith } from '../config/testing/adapter-config.ts';
import { LOCK_KINDS } from '../config/lock-file/lock-document.ts';
import { leaves } from '../config/testing/schema-leaves.ts';
import { NULL_AS_TEXT } from '../config/values/values.ts';
import { inputSchema } from '../generate/json-schema.ts';
import { type Manifest, invalidResources, programProblems, validResources } from './testing.ts';
import { ResourceApi } from './testing-api.ts';

const CRDS = new URL('../', import.meta.url).pathname;
const definition = (name: string): Record<string, unknown> =>
  parse(readFileSync(`${CRDS}${name}.yaml`, 'utf8'), { version: '1.1' }) as Record<string, unknown>;

let server: ApiServer;
let api: ResourceApi;

/** From an empty cache, the API server is built from its sources first. */
beforeAll(async () => {
  server = await startApiServer();
  api = new ResourceApi(server.kubeconfig);
}, 20 * 60_000);

afterAll(async () => {
  await api?.close();
  await server?.[Symbol.asyncDispose]();
}, 60_000);

const smallest = (): Manifest => structuredClone(validResources()[0]) as Manifest;
const named = (name: string, spec: object = {}): Manifest => {
  const base = smallest();
  return { ...base, metadata: { name }, spec: { ...base.spec, ...spec } };
};

async function established(): Promise<void> {
  await server.crdsEstablished();
}

/** The definition as it was before there were rules. */
function withoutRules(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutRules);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([key]) => key !== 'x-kubernetes-validations');
  return Object.fromEntries(kept.map(([key, item]) => [key, withoutRules(item)]));
}

const auth = (token: string) => ({ core: { auth: { token } } });

// The first tests install the definitions that the others need.
describe('installing', () => {
  const server0 = { id: 'a', mount_path: '/a', upstream: { url: 'http://a/mcp' } };
  const broken = named('broken', {
    replicas: 3,
    storage: { existingClaim: 'files', temporary: {} },
    config: { ...auth('secret'), servers: [server0, { ...server0, id: 'b' }] },
  });

  it('a resource from before a rule takes every change that has nothing to do with the rule', async () => {
    await server.kubectlWith(JSON.stringify(withoutRules(definition('mcpadapters'))), 'apply', '-f', '-');
    await established();
    await expect.poll(async () => (await api.create(broken)).code, { timeout: 20_000 }).toBe(201);

    await server.kubectl('apply', '-f', `${CRDS}mcpadapters.yaml`);
    const again = { ...broken, metadata: { name: 'again' } };
    await expect.poll(async () => (await api.create(again, { dryRun: true })).code, { timeout: 20_000 }).toBe(422);

    const changes = [
      { metadata: { labels: { team: 'a' } } },
      { spec: { image: 'registry.example.com/mcp-adapter:2' } },
      { spec: { config: { core: { log_level: 'debug' } } } },
      { spec: { config: { uploads: { enabled: false } } } },
    ];
    for (const change of changes) {
      expect((await api.patch(broken, change)).message, JSON.stringify(change)).toBe('');
    }
    // But not a change of what the rule is about.
    expect((await api.patch(broken, { spec: { config: auth('other') } })).message).toContain(
      'token must be a reference',
    );
    expect((await api.patch(broken, { spec: { storage: { temporary: { sizeLimit: '1Gi' } } } })).message).toContain(
      'can have only one of',
    );
    expect((await api.delete(broken)).code).toBe(200);
  });

  it('works with a client-side and with a server-side kubectl apply, and changes nothing the second time', async () => {
    await server.kubectl('apply', '-f', CRDS);
    const second = await server.kubectl('apply', '-f', CRDS);
    expect(second.trim().split('\n').sort()).toEqual([
      'customresourcedefinition.apiextensions.k8s.io/apiscrapesources.mcpadapter.io unchanged',
      'customresourcedefinition.apiextensions.k8s.io/mcpadapters.mcpadapter.io unchanged',
      'customresourcedefinition.apiextensions.k8s.io/mcptoollocks.mcpadapter.io unchanged',
    ]);
    await server.kubectl('apply', '--server-side', '-f', CRDS);
    expect(await server.kubectl('diff', '--server-side', '-f', CRDS)).toBe('');
    await established();
  });

  it.each(['mcpadapters', 'apiscrapesources', 'mcptoollocks'])(
    '%s fits into the annotation of a client-side apply',
    (name) => {
      expect(JSON.stringify(definition(name)).length).toBeLessThan(256 * 1024 * 0.75);
    },
  );
});

describe('a valid resource', () => {
  it.each(validResources().map((resource) => ({ name: `${resource.kind} ${resource.metadata.name}`, resource })))(
    '$name is accepted by the API server and the programs, and nothing is filled in but the replicas',
    async ({ resource }) => {
      expect(programProblems(resource)).toEqual([]);
      const created = await api.create(resource);
      expect(created.message).toBe('');
      const { spec } = (await api.read(resource)).body;
      const filledIn = resource.kind === 'McpAdapter' ? { replicas: 1 } : {};
      expect(spec).toEqual({ ...filledIn, ...resource.spec });
      await api.delete(resource);
    },
  );

  it('there are enough of them', () => {
    expect(validResources().length).toBeGreaterThanOrEqual(15);
  });
});

describe('an invalid resource', () => {
  const [byApi, byProgram] = [
    invalidResources().filter(({ by }) => by === 'api'),
    invalidResources().filter(({ by }) => by === 'program'),
  ];

  it.each(byApi)('$resource.kind with $wrong is refused by the API server', async ({ resource, field, says = '' }) => {
    const { code, message } = await api.create(resource, { dryRun: true });
    expect([400, 422]).toContain(code);
    expect(message).toContain(field);
    expect(message).toContain(says);
  });

  it.each(byProgram)('$resource.kind with $wrong is refused by the schema', async ({ resource, field }) => {
    expect(programProblems(resource)).toContain(field);
    // Otherwise it belongs to the others.
    expect((await api.create(resource, { dryRun: true })).message).toBe('');
  });

  it('there are enough of them', () => {
    expect(byApi.length + byProgram.length).toBeGreaterThanOrEqual(45);
  });

  it('shows no secret in the message', async () => {
    const { message } = await api.create(
      named('secret', { config: { ...(smallest().spec['config'] as object), ...auth('hunter2') } }),
      { dryRun: true },
    );
    expect(message).toContain('spec.config.core.auth.token');
    expect(message).not.toContain('hunter2');
  });
});

describe('a change', () => {
  const shared = {
    replicas: 1,
    storage: { claim: { size: '1Gi', storageClassName: 'shared', accessModes: ['ReadWriteMany'] } },
    config: {
      state_persistence: { type: 'redis', redis: { host: 'redis' } },
      servers: [{ id: 'a', mount_path: '/a', upstream: { url: 'http://a/mcp' } }],
    },
  };
  const resource = named('changing', shared);
  beforeAll(async () => {
    expect((await api.create(resource)).message).toBe('');
  });

  it('of the replicas works with kubectl scale, as far as the state is shared', async () => {
    await server.kubectl('scale', 'mcpa/changing', '--replicas=2');
    expect(await server.kubectl('get', 'mcpa/changing', '-o', 'jsonpath={.spec.replicas}')).toBe('2');

    expect((await api.create(named('single'))).code).toBe(201);
    await expect(server.kubectl('scale', 'mcpa/single', '--replicas=2')).rejects.toThrow('state_persistence');
  });

  it.each([
    [{ storageClassName: 'other' }, 'storageClassName cannot be changed'],
    [{ storageClassName: null }, 'storageClassName cannot be changed'],
    [{ accessModes: ['ReadWriteMany', 'ReadWriteOnce'] }, 'accessModes cannot be changed'],
  ])('of the claim to %j is refused', async (claim, says) => {
    expect((await api.patch(resource, { spec: { storage: { claim } } })).message).toContain(says);
  });

  it('of the size of the claim is accepted', async () => {
    expect((await api.patch(resource, { spec: { storage: { claim: { size: '2Gi' } } } })).message).toBe('');
  });

  it('back to state that is not shared is refused', async () => {
    const change = { spec: { config: { state_persistence: { type: 'disk' } } } };
    expect((await api.patch(resource, change)).message).toContain('more than one replica');
  });
});

describe('a tool lock', () => {
  const digest = (n: number): string => `sha256:${n.toString(16).padStart(64, '0')}`;
  const fields = LOCK_KINDS.tools.fields;
  const entry = (n: number) => ({
    digest: digest(n),
    fields: Object.fromEntries(fields.map((field, at) => [field, digest(n * 10 + at)])),
  });
  const tools = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`look_something_up_${n}`, entry(n)]));
  const lock = (name: string, spec: object): Manifest => ({
    apiVersion: 'mcpadapter.io/v1alpha1',
    kind: 'McpToolLock',
    metadata: { name },
    spec: { adapterRef: { name: 'demo' }, ...spec },
  });

  it('of 1,000 tools with all fields fits, and the API server adds little to it', async () => {
    const large = lock('large', { servers: { files: { tools: tools(1000) } } });
    const given = JSON.stringify(large).length;
    expect(given).toBeGreaterThan(750_000);
    // As it is applied: a client-side apply would keep it a second time.
    await server.kubectlWith(JSON.stringify(large), 'apply', '--server-side', '-f', '-');
    const { body } = await api.read(large);
    expect(body['spec']).toEqual(large.spec);
    expect(JSON.stringify(body).length).toBeLessThan(given + 4000);
    expect((await api.patch(large, { spec: { mode: 'audit' } })).message).toBe('');
    const status = {
      drifted: 1,
      pending: [{ server: 'files', kind: 'tools', name: 'a', state: 'drift', fields: ['title'] }],
    };
    await server.kubectl(
      'patch',
      'mcptl/large',
      '--subresource=status',
      '--type=merge',
      '-p',
      JSON.stringify({ status }),
    );
    expect(await server.kubectl('get', 'mcptl', 'large')).toMatch(
      /NAME +ADAPTER +MODE +READY +DRIFTED +NEW +SINCE +AGE\nlarge +demo +audit +1 /,
    );
    expect(await server.kubectl('get', 'mcp', '-o', 'name')).toContain('mcptoollock.mcpadapter.io/large');
  });

  it('has one owner for all its servers: who applies them replaces them', async () => {
    const first = lock('owned', { servers: { a: { tools: tools(1) }, b: {} } });
    await server.kubectlWith(JSON.stringify(first), 'apply', '--server-side', '-f', '-');
    const second = lock('owned', { servers: { a: {} } });
    await server.kubectlWith(
      JSON.stringify(second),
      'apply',
      '--server-side',
      '--field-manager=other',
      '--force-conflicts',
      '-f',
      '-',
    );
    expect((await api.read(second)).body['spec']).toEqual(second.spec);
  });

  it.each([
    ['without an adapter', { adapterRef: undefined }, 'adapterRef'],
    ['of an adapter that has no name', { adapterRef: { name: 'No Name' } }, 'spec.adapterRef.name'],
    ['of another mode', { mode: 'of' }, 'spec.mode'],
    ['with what is no digest', { servers: { a: { tools: { b: { digest: 'x', fields: {} } } } } }, 'tools.b.digest'],
    ['with too many tools', { servers: { a: { tools: tools(1001) } } }, 'spec.servers.a.tools'],
    ['with a field that nobody knows', { servers: { a: { tool: {} } } }, 'spec.servers.a.tool'],
  ])('%s is refused', async (_what, spec, field) => {
    const { code, message } = await api.create(lock('refused', spec), { dryRun: true });
    expect([400, 422]).toContain(code);
    expect(message).toContain(field);
  });
});

describe('null', () => {
  const withNull = () => {
    const config = smallest().spec['config'] as object;
    return named('nothing', { config: { ...config, uploads: { ttl_seconds: null } } });
  };

  it('survives a server-side apply', async () => {
    await server.kubectlWith(JSON.stringify(withNull()), 'apply', '--server-side', '-f', '-');
    const read = () => server.kubectl('get', 'mcpa/nothing', '-o', 'jsonpath={.spec.config.uploads}');
    expect(await read()).toBe('{"ttl_seconds":null}');
    expect(await server.kubectlWith(JSON.stringify(withNull()), 'diff', '--server-side', '-f', '-')).toBe('');
  });

  it('survives a client-side apply as a text, in every field where the program reads it as null', async () => {
    const paths = leaves(inputSchema(AdapterConfig))
      .filter(({ schema, path }) => schema[NULL_AS_TEXT] === true && !path.endsWith('include_raw_output'))
      // A limit has one of the two.
      .map(({ path }) => path.replace('limits[0].rate', 'limits[1].rate'));
    const limits = [
      { per: 'server', rate: '1/s' },
      { per: 'server', concurrent: 1 },
    ];
    const config = sampleWith({ 'core.limits': limits, ...Object.fromEntries(paths.map((path) => [path, 'null'])) });
    const resource = named('text-null', { config });
    await server.kubectlWith(JSON.stringify(resource), 'apply', '-f', '-');
    expect(await server.kubectlWith(JSON.stringify(resource), 'apply', '-f', '-')).toContain('unchanged');

    const stored = JSON.parse(
      await server.kubectl('get', 'mcpa/text-null', '-o', 'jsonpath={.spec.config}'),
    ) as unknown;
    expect(stored).toEqual(config);
    const loaded = loadAdapterConfig(JSON.stringify(stored), {});
    expect(paths.length).toBeGreaterThan(30);
    expect(paths.filter((path) => get(loaded, path) !== null)).toEqual([]);
    // A bare null is what this is for.
    const bare = named('bare-null', { config: sampleWith({ 'uploads.ttl_seconds': null }) });
    await server.kubectlWith(JSON.stringify(bare), 'apply', '-f', '-');
    expect(await server.kubectl('get', 'mcpa/bare-null', '-o', 'jsonpath={.spec.config.uploads}')).toBe('{}');
  });
});

describe('kubectl', () => {
  it.each([
    ['mcpadapter', 'A gateway in front of MCP servers'],
    ['mcpadapter.spec.config', 'The configuration file of the adapter'],
    ['mcpadapter.spec.config.core', 'Integer from 1 to 65535. TCP port to listen on. Default: 8932.'],
    ['mcpadapter.spec.config.core.tool_definition_pinning.mode', 'One of `off`, `warn`, `block`. Default: `warn`.'],
    ['mcpa.spec.config.servers.upstream.url', 'URL of the MCP endpoint'],
    ['mcpa.spec.config.servers.adapters.type', '`upload_consumer`: tools that take uploaded files.'],
    ['mcpa.spec.storage.claim', 'More than one replica needs `ReadWriteMany`'],
    ['mcpa.status', 'Where clients reach the adapter'],
    ['mcptl.spec', 'What becomes of definitions that differ'],
    ['mcptl.spec.servers.tools.fields', 'Digest of its `inputSchema`'],
    ['mcptl.status.pending', 'Fields that differ, of what drifts.'],
    ['apiss.spec', 'Sources of one namespace and group run in the same pods'],
    ['apiss.spec.source.scrape', 'Which requests are made'],
    ['apiss.spec.scraper', 'OTLP endpoint of the collector'],
  ])('explain %s', async (path, says) => {
    const words = (await server.kubectl('explain', path)).replaceAll(/\s+/g, ' ');
    expect(words).toContain(says);
    // Each field below has a description of its own.
    expect(words).not.toContain('<no description>');
  });

  it('explain --recursive lists the fields of servers', async () => {
    const fields = await server.kubectl('explain', 'mcpa.spec', '--recursive');
    for (const field of ['mount_path', 'static_headers', 'block_strategy', 'output_path_regexes']) {
      expect(fields).toContain(field);
    }
  });

  it('get shows the columns, by short name and by category', async () => {
    await api.create(named('shown'));
    await api.create(validResources().find(({ kind }) => kind === 'ApiScrapeSource') as Manifest);
    const conditions = [
      {
        type: 'Ready',
        status: 'True',
        reason: 'Available',
        message: 'It serves.',
        lastTransitionTime: '2026-01-02T03:04:05Z',
      },
    ];
    const status = {
      replicas: 2,
      readyReplicas: 2,
      upstreamsHealthy: '3/4',
      url: 'http://shown.default.svc:8932',
      conditions,
    };
    await server.kubectl(
      'patch',
      'mcpa/shown',
      '--subresource=status',
      '--type=merge',
      '-p',
      JSON.stringify({ status }),
    );
    const table = await server.kubectl('get', 'mcpa', 'shown');
    expect(table).toMatch(/NAME +READY +REPLICAS +UPSTREAMS +URL +AGE\n/);
    expect(table).toMatch(/shown +True +2 +3\/4 +http:\/\/shown\.default\.svc:8932 /);
    expect(await server.kubectl('get', 'mcpa', 'shown', '-o', 'wide')).toMatch(
      /REASON +MESSAGE\n.*Available +It serves\./,
    );
    expect(await server.kubectl('get', 'apiss')).toMatch(/NAME +GROUP +READY +SINCE +AGE\n/);
    expect(await server.kubectl('get', 'mcp', '-o', 'name')).toContain('apiscrapesource.mcpadapter.io/smallest');
  });

  it('writes the status only through its subresource', async () => {
    const resource = named('status', {});
    await api.create({ ...resource, status: { url: 'http://mine' } } as Manifest);
    expect((await api.read(resource)).body['status']).toBeUndefined();
  });
});
