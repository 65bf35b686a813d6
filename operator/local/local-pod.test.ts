import { describe, expect, test } from 'vitest';
import type { KubernetesObject } from '../kubernetes/kubernetes.ts';
import { type LocalWorld, localPod } from './local-pod.ts';

const CONFIG_MAP: KubernetesObject = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'demo-config' },
  data: {
    'config.yaml':
      'storage:\n  root: /data/shared\nservers:\n  - upstream: {url: "http://127.0.0.1:8931/mcp"}\n    n: 8931\n',
  },
};

const deployment = (container: object, rest: object = {}): KubernetesObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'demo' },
  spec: {
    template: {
      spec: {
        volumes: [
          { name: 'config', configMap: { name: 'demo-config' } },
          { name: 'storage', emptyDir: {} },
        ],
        containers: [{ name: 'adapter', command: ['mcp-adapter'], ...container }],
        ...rest,
      },
    },
  },
});

const world = (over: Partial<LocalWorld> = {}): LocalWorld => ({
  folder: '/home/me/.data',
  data: () => undefined,
  env: {},
  port: (port) => port,
  ...over,
});
const MOUNTS = {
  volumeMounts: [
    { name: 'config', mountPath: '/etc/mcp-adapter' },
    { name: 'storage', mountPath: '/data/shared/' },
    { name: 'storage', mountPath: '/data' },
  ],
};

describe('a pod on this machine', () => {
  test('has its volumes in folders, in arguments, variables and files', () => {
    const pod = localPod(
      deployment({
        ...MOUNTS,
        args: ['--config', '/etc/mcp-adapter/config.yaml', '/data/x', '/database'],
        env: [{ name: 'ROOT', value: '/data/shared' }],
      }),
      [CONFIG_MAP],
      world(),
    );
    const volumes = '/home/me/.data/volumes';
    expect(pod.containers[0]?.command).toEqual([
      'mcp-adapter',
      '--config',
      `${volumes}/config/config.yaml`,
      `${volumes}/storage/x`,
      '/database',
    ]);
    expect(pod.containers[0]?.env).toEqual({ ROOT: `${volumes}/storage` });
    expect(pod.files[`${volumes}/config/config.yaml`]).toContain(`root: ${volumes}/storage\n`);
    expect(pod.folders.toSorted()).toEqual([`${volumes}/config`, `${volumes}/storage`]);
    expect(pod.problems).toEqual([]);
  });

  test('has free ports of this machine wherever a port of the pod is named', () => {
    const upstream = {
      name: 'upstream',
      command: ['up', '--port', '8931', '--at=8931', '18931'],
      ports: [{ containerPort: 8931 }],
    };
    const pod = localPod(
      deployment({ ...MOUNTS, env: [{ name: 'U', value: 'http://localhost:8931/x' }] }, {}),
      [CONFIG_MAP],
      world({ port: () => 40_000 }),
    );
    expect(pod.containers[0]?.env['U']).toBe('http://localhost:8931/x'); // no container has this port
    const both = deployment(MOUNTS);
    (both['spec'] as { template: { spec: { containers: unknown[] } } }).template.spec.containers.push(upstream);
    const local = localPod(both, [CONFIG_MAP], world({ port: () => 40_000 }));
    expect(local.containers[1]?.command).toEqual(['up', '--port', '40000', '--at=40000', '18931']);
    const config = Object.values(local.files)[0];
    expect(config).toContain('url: http://127.0.0.1:40000/mcp');
    expect(config).toContain('n: 8931');
  });

  test('has the sidecars among the init containers last, so that they end last', () => {
    const both = deployment(MOUNTS);
    const { spec } = (both['spec'] as { template: { spec: Record<string, unknown> } }).template;
    spec['initContainers'] = [{ name: 'upstream', command: ['up'], restartPolicy: 'Always' }];
    const { containers } = localPod(both, [CONFIG_MAP], world());
    expect(containers.map(({ name }) => name)).toEqual(['adapter', 'upstream']);
  });

  test('takes variables from Secrets and ConfigMaps among the files, else from the environment', () => {
    const data = (kind: string, name: string) =>
      kind === 'Secret' && name === 's' ? { k: 'v', other: 'o' } : undefined;
    const key = (name: string) => ({ secretKeyRef: { name, key: 'k' } });
    const pod = localPod(
      deployment({
        envFrom: [{ prefix: 'P_', secretRef: { name: 's' } }, { configMapRef: { name: 'none', optional: true } }],
        env: [
          { name: 'A', valueFrom: key('s') },
          { name: 'B', valueFrom: key('absent') },
          { name: 'C', valueFrom: key('absent') },
          { name: 'D', valueFrom: { secretKeyRef: { name: 'absent', key: 'k', optional: true } } },
        ],
      }),
      [],
      world({ data, env: { B: 'from here' } }),
    );
    expect(pod.containers[0]?.env).toEqual({ P_k: 'v', P_other: 'o', A: 'v', B: 'from here' });
    expect(pod.problems).toEqual([
      'variable C comes from key k of the Secret absent, which is not among the files; add it, or set C in the environment',
    ]);
  });

  test('needs a command for each container, and the objects of envFrom', () => {
    const pod = localPod(deployment({ command: undefined, envFrom: [{ secretRef: { name: 'gone' } }] }), [], world());
    expect(pod.problems).toEqual([
      'Secret gone, which envFrom names, is not among the files',
      'container adapter has no command; without a cluster there are no images, so say what to run',
    ]);
  });
});
