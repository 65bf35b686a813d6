import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { type Path, valueAt } from '../../../lib/json/tree.ts';
import type { BuildContext } from './build-context.ts';
import { effectiveConfig } from '../config/effective-config.ts';
import { adapterWith, contextOf } from '../testing/golden-resources.ts';
import { podTemplate } from './pod-template.ts';

const template = (
  spec: Record<string, unknown> = {},
  config: Record<string, unknown> = {},
  context: Partial<BuildContext> = {},
): object => {
  const adapter = adapterWith(spec, config);
  return podTemplate(adapter, effectiveConfig(adapter.spec), { ...contextOf(), ...context }, 'hash');
};

const container = (from: object, ...path: Path): unknown => valueAt(from, ['spec', 'containers', 0, ...path]);
const secretPort = { env: [{ name: 'PORT', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }] };

describe('the container', () => {
  test('runs the image of the resource, else that of the operator', () => {
    expect(container(template({}, {}, { image: 'operator:1' }), 'image')).toBe('operator:1');
    expect(container(template({ image: 'mine:2' }), 'image')).toBe('mine:2');
    expect(container(template({ command: ['sh'] }), 'command')).toEqual(['mcp-adapter']);
  });

  test('listens on the port of the configuration, and on a certain one when only a Secret knows it', () => {
    const written = template({}, { core: { port: 9000 } });
    expect(container(written, 'ports')).toEqual([{ name: 'http', containerPort: 9000, protocol: 'TCP' }]);
    expect(container(written, 'args')).not.toContain('--port');
    const hidden = template(secretPort, { core: { port: '${PORT}' } });
    expect(container(hidden, 'ports', 0, 'containerPort')).toBe(8932);
    expect(container(hidden, 'args')).toEqual(expect.arrayContaining(['--port', '8932']));
  });

  test('O8: may listen on the ports of root where it is told to, and only then', () => {
    const sysctls = [{ name: 'net.ipv4.ip_unprivileged_port_start', value: '0' }];
    const context = (core: object, telemetry: object = {}): unknown =>
      valueAt(template({}, { core, telemetry }), ['spec', 'securityContext']);
    expect(context({ port: 80 })).toMatchObject({ sysctls });
    expect(context({ port: 1023 }, { prometheus: { enabled: true } })).toMatchObject({ sysctls });
    expect(context({}, { prometheus: { enabled: true, port: 81 } })).toMatchObject({ sysctls });
    expect(context({ port: 1024 })).not.toHaveProperty('sysctls');
  });

  test('answers the plugin for kubectl at a port that nothing else of it has, by the uid of the resource', () => {
    const variables = (uid: string | undefined, spec: object = {}, config: object = {}): Record<string, string> => {
      const plain = adapterWith({ ...spec }, { ...config });
      const adapter = uid === undefined ? plain : { ...plain, metadata: { ...plain.metadata, uid } };
      const made = podTemplate(adapter, effectiveConfig(adapter.spec), contextOf(), 'hash');
      const env = container(made, 'env') as { name: string; value: string }[];
      return Object.fromEntries(
        env.filter(({ name }) => name.includes('_ADMIN_')).map(({ name, value }) => [name, value]),
      );
    };
    const uid = 'b0e3b7f4-8f5e-4a7e-9a43-0d7e6f3e2a11';
    expect(variables(uid)).toEqual({ MCP_ADAPTER_ADMIN_PORT: '8933', MCP_ADAPTER_ADMIN_KEY: uid });
    const taken = { core: { port: 8933 }, telemetry: { prometheus: { enabled: true, port: 8934 } } };
    expect(variables(uid, {}, taken)).toMatchObject({ MCP_ADAPTER_ADMIN_PORT: '8935' });
    const off = { env: [{ name: 'MCP_ADAPTER_ADMIN_PORT', value: '' }] };
    expect(variables(uid, off)).toMatchObject({ MCP_ADAPTER_ADMIN_PORT: '' });
    // Without a cluster there is no uid.
    expect(variables(undefined)).toEqual({});
  });

  test('watches references when there are some', () => {
    expect(container(template(), 'args')).not.toContain('--references');
    expect(container(template(secretPort), 'args')).toEqual(
      expect.arrayContaining(['--references', '/var/run/mcp-references']),
    );
  });

  test('has each path mounted once', () => {
    for (const root of ['/data', '/tmp', '/tmp/']) {
      const mounts = container(template({}, { storage: { root } }), 'volumeMounts') as { mountPath: string }[];
      expect(new Set(mounts.map(({ mountPath }) => mountPath)).size).toBe(mounts.length);
    }
  });

  test('has each variable once, and the user’s own', () => {
    const name = 'MCP_ADAPTER_SHUTDOWN_TIMEOUT_SECONDS';
    const set = [
      { name: 'BLOCK_LOOPBACK', value: 'true' },
      { name: 'BLOCK_API_SERVER', value: 'kubernetes.default.svc,10.96.0.1' },
      { name: 'NODE_OPTIONS', value: '--max-old-space-size=256 --max-semi-space-size=8' },
    ];
    expect(container(template(), 'env')).toEqual([{ name, value: '60' }, ...set]);
    const env = [{ name, value: '7' }];
    const own = template({ env });
    expect(container(own, 'env')).toEqual([...env, ...set]);
    expect(valueAt(own, ['spec', 'terminationGracePeriodSeconds'])).toBe(22);
    const observed = template({ env }, { telemetry: { enabled: true, shutdown_drain_timeout_seconds: 20 } });
    expect(valueAt(observed, ['spec', 'terminationGracePeriodSeconds'])).toBe(42);
  });
});

test('on OpenShift, users and groups are the platform’s choice', () => {
  const ids = /runAsUser|runAsGroup|fsGroup/;
  expect(JSON.stringify(template())).toMatch(ids);
  const open = template({}, {}, { podSecurity: 'openshift' });
  expect(JSON.stringify(open)).not.toMatch(ids);
  expect(valueAt(open, ['spec', 'securityContext', 'runAsNonRoot'])).toBe(true);
});

describe('an overlay', () => {
  const marks = {
    labels: { 'mcpadapter.io/adapter': 'other', 'app.kubernetes.io/instance': 'x', team: 'a' },
    annotations: { 'mcpadapter.io/config-hash': 'x', 'mcpadapter.io/references-revision': '9', note: 'b' },
  };

  test('cannot take pods from their Service, or hide a change', () => {
    const { metadata } = template({ podOverlay: { metadata: marks } }, {}, { referencesRevision: '4' }) as {
      metadata: { labels: object; annotations: object };
    };
    expect(metadata.labels).toMatchObject({ 'mcpadapter.io/adapter': 'sample', team: 'a' });
    expect(metadata.labels).not.toHaveProperty(['app.kubernetes.io/instance']);
    expect(metadata.annotations).toMatchObject({
      'mcpadapter.io/config-hash': 'hash',
      'mcpadapter.io/references-revision': '4',
      note: 'b',
    });
  });

  test('changes the container of the adapter by its name', () => {
    const spec = { containers: [{ name: 'adapter', image: 'mine:3', resources: { limits: { memory: '2Gi' } } }] };
    const changed = template({ podOverlay: { spec } });
    expect(container(changed, 'image')).toBe('mine:3');
    expect(container(changed, 'resources')).toEqual({
      requests: { cpu: '50m', memory: '128Mi' },
      limits: { memory: '2Gi' },
    });
    expect(valueAt(changed, ['spec', 'containers', 1])).toBeUndefined();
  });
});

describe('T17: the heap', () => {
  const options = (resources: object | undefined, podOverlay?: object): unknown => {
    const spec = {
      ...(resources === undefined ? {} : { resources }),
      ...(podOverlay === undefined ? {} : { podOverlay }),
    };
    const env = container(template(spec), 'env') as { name: string; value: string }[];
    return env.find(({ name }) => name === 'NODE_OPTIONS')?.value;
  };

  test.each([
    [undefined, '--max-old-space-size=256 --max-semi-space-size=8'],
    [{ limits: { memory: '1Gi' } }, '--max-old-space-size=512 --max-semi-space-size=16'],
    [{ limits: { memory: 268_435_456 } }, '--max-old-space-size=128 --max-semi-space-size=4'],
    [{ requests: { memory: '1Gi' } }, undefined],
    [{ limits: { memory: '1' } }, undefined],
  ])('with %j is told by %j', (resources, expected) => {
    expect(options(resources)).toBe(expected);
  });

  test('follows the limit of the overlay, and leaves what the overlay says of it alone', () => {
    const adapter = (more: object) => ({ spec: { containers: [{ name: 'adapter', ...more }] } });
    expect(options(undefined, adapter({ resources: { limits: { memory: '2Gi' } } }))).toBe(
      '--max-old-space-size=1024 --max-semi-space-size=16',
    );
    expect(options(undefined, adapter({ env: [{ name: 'NODE_OPTIONS', value: '--x' }] }))).toBe('--x');
  });
});

describe('O15 T22: variables that are code', () => {
  test('are dead when they come by envFrom, because what the container names itself counts before it', () => {
    const made = template({ envFrom: [{ secretRef: { name: 's' } }], resources: {} });
    const env = new Map(
      (container(made, 'env') as { name: string; value: string }[]).map((one) => [one.name, one.value]),
    );
    for (const name of [
      'NODE_OPTIONS',
      'NODE_EXTRA_CA_CERTS',
      'LD_PRELOAD',
      'HTTPS_PROXY',
      'https_proxy',
      'SSL_CERT_FILE',
    ]) {
      expect(env.get(name), name).toBe('');
    }
    expect(env.size).toBe((container(made, 'env') as unknown[]).length);
  });

  test('empty, they leave Node as it is', () => {
    const made = template({ envFrom: [{ secretRef: { name: 's' } }], resources: {} });
    const env = Object.fromEntries(
      (container(made, 'env') as { name: string; value: string }[]).map(({ name, value }) => [name, value]),
    );
    const script = "require('node:tls').getCACertificates('default').length > 50 && console.log('works')";
    expect(execFileSync(process.execPath, ['-e', script], { env, encoding: 'utf8' })).toBe('works\n');
  });

  test('is not needed where nothing unknown comes', () => {
    expect(JSON.stringify(template())).not.toContain('LD_PRELOAD');
  });
});
