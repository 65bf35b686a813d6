import { describe, expect, test } from 'vitest';
import { check } from './mcp-adapter/check/check.ts';
import { sampleAdapter } from './mcp-adapter/testing/sample.ts';
import { preparing } from './scrape-group/group/prepare.ts';
import { first } from './scrape-group/testing/sources.ts';
import { DEFAULT_PERMISSIONS, type PodOverlay } from './validation/permissions.ts';

/** `path message` of each problem of a McpAdapter with this pod overlay. */
function problems(podOverlay: object, policy: PodOverlay = 'restricted', spec: object = {}): string[] {
  const resource = sampleAdapter({ 'spec.podOverlay': podOverlay });
  Object.assign(resource['spec'] as object, spec);
  const checked = check(resource, { httpRoutes: true }, { ...DEFAULT_PERMISSIONS, podOverlay: policy });
  return checked.ok ? [] : checked.problems.map(({ path, message }) => `${path} ${message}`);
}
const pod = (spec: object) => ({ spec });
const sidecar = (more: object) => pod({ containers: [{ name: 'upstream', image: 'x', ...more }] });
const ours = (more: object) => pod({ containers: [{ name: 'adapter', ...more }] });
const context = (securityContext: object | null) => sidecar({ securityContext });
const volume = (more: object) => pod({ volumes: [{ name: 'v', ...more }] });

const REFUSED: readonly (readonly [string, object, string])[] = [
  ['the network of the node', pod({ hostNetwork: true }), 'spec.hostNetwork'],
  ['the processes of the node', pod({ hostPID: true }), 'spec.hostPID'],
  ['the memory of the node', pod({ hostIPC: true }), 'spec.hostIPC'],
  ['processes of each other', pod({ shareProcessNamespace: true }), 'spec.shareProcessNamespace'],
  ['another account', pod({ serviceAccountName: 'admin' }), 'spec.serviceAccountName'],
  ['another account, by its old name', pod({ serviceAccount: 'admin' }), 'spec.serviceAccount'],
  ['the default account', pod({ serviceAccountName: null }), 'spec.serviceAccountName'],
  ['a token', pod({ automountServiceAccountToken: true }), 'spec.automountServiceAccountToken'],
  [
    'a projected token',
    volume({ projected: { sources: [{ configMap: { name: 'a' } }, { serviceAccountToken: { path: 't' } }] } }),
    'spec.volumes[0].projected.sources[1].serviceAccountToken',
  ],
  [
    'a projected certificate',
    volume({ projected: { sources: [{ podCertificate: {} }] } }),
    'spec.volumes[0].projected.sources[0].podCertificate',
  ],
  ['a node', pod({ nodeName: 'control-plane' }), 'spec.nodeName'],
  ['a priority of the system', pod({ priorityClassName: 'system-node-critical' }), 'spec.priorityClassName'],
  ['another of these', pod({ priorityClassName: 'system-cluster-critical' }), 'spec.priorityClassName'],
  ['the same as a number', pod({ priority: 1_000_000_001 }), 'spec.priority'],
  ['a folder of the node', volume({ hostPath: { path: '/' } }), 'spec.volumes[0].hostPath'],
  ['a share of the network', volume({ nfs: { server: 'x', path: '/' } }), 'spec.volumes[0].nfs'],
  [
    "somebody else's claim",
    volume({ persistentVolumeClaim: { claimName: 'payroll' } }),
    'spec.volumes[0].persistentVolumeClaim.claimName',
  ],
  [
    'a port of the node',
    sidecar({ ports: [{ hostPort: 80, containerPort: 80 }] }),
    'spec.containers[0].ports[0].hostPort',
  ],
  [
    'a port of the node before the adapter',
    pod({ initContainers: [{ name: 'i', image: 'x', ports: [{ hostPort: 80, containerPort: 80 }] }] }),
    'spec.initContainers[0].ports[0].hostPort',
  ],
  ['privilege', context({ privileged: true }), 'spec.containers[0].securityContext.privileged'],
  [
    'privilege before the adapter',
    pod({ initContainers: [{ name: 'i', image: 'x', securityContext: { privileged: true } }] }),
    'spec.initContainers[0].securityContext.privileged',
  ],
  [
    'gaining privileges',
    context({ allowPrivilegeEscalation: true }),
    'spec.containers[0].securityContext.allowPrivilegeEscalation',
  ],
  [
    'a capability',
    context({ capabilities: { add: ['NET_BIND_SERVICE', 'SYS_ADMIN'] } }),
    'spec.containers[0].securityContext.capabilities.add[1]',
  ],
  [
    'a capability for packets of others',
    context({ capabilities: { add: ['NET_RAW'] } }),
    'spec.containers[0].securityContext.capabilities.add[0]',
  ],
  ['some of /proc', context({ procMount: 'Other' }), 'spec.containers[0].securityContext.procMount'],
  ['all of /proc', context({ procMount: 'Unmasked' }), 'spec.containers[0].securityContext.procMount'],
  [
    'every system call',
    context({ seccompProfile: { type: 'Unconfined' } }),
    'spec.containers[0].securityContext.seccompProfile.type',
  ],
  [
    'no AppArmor',
    context({ appArmorProfile: { type: 'Unconfined' } }),
    'spec.containers[0].securityContext.appArmorProfile.type',
  ],
  [
    'a type of SELinux',
    context({ seLinuxOptions: { type: 'spc_t' } }),
    'spec.containers[0].securityContext.seLinuxOptions.type',
  ],
  ...['user', 'role'].map(
    (field) =>
      [
        `a ${field} of SELinux`,
        context({ seLinuxOptions: { [field]: 'x' } }),
        `spec.containers[0].securityContext.seLinuxOptions.${field}`,
      ] as const,
  ),
  ['root', context({ runAsUser: 0 }), 'spec.containers[0].securityContext.runAsUser'],
  ['root for the pod', pod({ securityContext: { runAsUser: 0 } }), 'spec.securityContext.runAsUser'],
  ['perhaps root', pod({ securityContext: { runAsNonRoot: false } }), 'spec.securityContext.runAsNonRoot'],
  ['no confinement of the pod', pod({ securityContext: null }), 'spec.securityContext'],
  [
    'a confinement less of the pod',
    pod({ securityContext: { runAsNonRoot: null } }),
    'spec.securityContext.runAsNonRoot',
  ],
  [
    'a confinement less of the adapter',
    ours({ securityContext: { capabilities: null } }),
    'spec.containers[0].securityContext.capabilities',
  ],
  [
    'a parameter of the kernel',
    pod({ securityContext: { sysctls: [{ name: 'kernel.msgmax', value: '1' }] } }),
    'spec.securityContext.sysctls[0]',
  ],
  [
    'a host process',
    context({ windowsOptions: { hostProcess: true } }),
    'spec.containers[0].securityContext.windowsOptions.hostProcess',
  ],
  [
    'a request by the kubelet',
    sidecar({ livenessProbe: { httpGet: { host: '169.254.169.254', port: 80 } } }),
    'spec.containers[0].livenessProbe.httpGet.host',
  ],
  [
    'the same as a hook',
    sidecar({ lifecycle: { postStart: { httpGet: { host: '10.0.0.1', port: 80 } } } }),
    'spec.containers[0].lifecycle.postStart.httpGet.host',
  ],
  ...['startupProbe', 'livenessProbe', 'readinessProbe'].map(
    (probe) =>
      [
        `the same over TCP, as ${probe}`,
        sidecar({ [probe]: { tcpSocket: { host: '10.0.0.1', port: 80 } } }),
        `spec.containers[0].${probe}.tcpSocket.host`,
      ] as const,
  ),
  [
    'the same at the end',
    sidecar({ lifecycle: { preStop: { httpGet: { host: '10.0.0.1', port: 80 } } } }),
    'spec.containers[0].lifecycle.preStop.httpGet.host',
  ],
  ["a label of somebody else's Service", { metadata: { labels: { app: 'billing' } } }, 'metadata.labels.app'],
  [
    'a label of a database',
    { metadata: { labels: { 'cnpg.io/cluster': 'orders' } } },
    'metadata.labels["cnpg.io/cluster"]',
  ],
  ...[
    'k8s.v1.cni.cncf.io/networks',
    'v1.multus-cni.io/default-network',
    'seccomp.security.alpha.kubernetes.io/pod',
    'container.seccomp.security.alpha.kubernetes.io/x',
    'container.apparmor.security.beta.kubernetes.io/x',
  ].map(
    (key) =>
      [
        'another network or less confinement, by annotation',
        { metadata: { annotations: { [key]: 'x' } } },
        `metadata.annotations["${key}"]`,
      ] as const,
  ),
];

describe('T22: a resource is not a pod in disguise', () => {
  test.each(REFUSED)('%s needs --pod-overlay=all', (_, podOverlay, path) => {
    expect(problems(podOverlay)).toEqual([expect.stringContaining(`spec.podOverlay.${path} `)]);
    expect(problems(podOverlay)[0]).toContain('the operator allows it only with --pod-overlay=all');
    expect(problems(podOverlay, 'all')).toEqual([]);
  });

  test.each(REFUSED)('%s, in the overlay of a source', (_, podOverlay, path) => {
    const text = JSON.stringify(podOverlay).replaceAll('"adapter"', '"scraper"');
    const source = first('one', { podOverlay: JSON.parse(text) });
    expect(preparing(DEFAULT_PERMISSIONS)(source).problems).toEqual([
      expect.objectContaining({ path: `podOverlay.${path}`, reason: 'InvalidSpec' }),
    ]);
    const allowed = preparing({ ...DEFAULT_PERMISSIONS, podOverlay: 'all' });
    expect(allowed(source).problems).toEqual([]);
  });

  test.each<[string, object]>([
    ['a sidecar', sidecar({ env: [{ name: 'A', value: 'b' }], ports: [{ containerPort: 80 }] })],
    ['one with a context', context({ runAsUser: 1000, capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] } })],
    ['one without a context', context(null)],
    ['selection of nodes', pod({ nodeSelector: { a: 'b' }, tolerations: [{ operator: 'Exists' }], affinity: {} })],
    ['its own account', pod({ serviceAccountName: 'demo', automountServiceAccountToken: false })],
    ['its own claim', volume({ persistentVolumeClaim: { claimName: 'demo-storage' } })],
    [
      'volumes',
      pod({
        volumes: [
          { name: 'a', emptyDir: {} },
          { name: 'b', secret: { secretName: 's' } },
        ],
      }),
    ],
    ['a volume less', pod({ volumes: [{ name: 'tmp', $patch: 'delete' }] })],
    ['another kind of volume', pod({ volumes: [{ name: 'tmp', hostPath: null, emptyDir: {} }] })],
    [
      'a parameter of its own part of the kernel',
      pod({ securityContext: { sysctls: [{ name: 'net.ipv4.tcp_wmem', value: '1' }] } }),
    ],
    ['a class of priority', pod({ priorityClassName: 'high', priority: 1_000_000_000 })],
    ['more confinement', ours({ securityContext: { seccompProfile: { type: 'Localhost', localhostProfile: 'p' } } })],
    ['a label for a mesh', { metadata: { labels: { 'sidecar.istio.io/inject': 'true' }, annotations: { a: 'b' } } }],
    ['a probe of itself', sidecar({ livenessProbe: { httpGet: { path: '/', port: 80 } } })],
  ])('%s needs nothing', (_, podOverlay) => {
    expect(problems(podOverlay)).toEqual([]);
  });

  test('the claim that spec.storage names is its own, and the one that it would have made is not', () => {
    const storage = { storage: { existingClaim: 'shared' } };
    const overlay = (claimName: string) => volume({ persistentVolumeClaim: { claimName } });
    expect(problems(overlay('shared'), 'restricted', storage)).toEqual([]);
    expect(problems(overlay('demo-storage'), 'restricted', storage)).toHaveLength(1);
  });

  test('--pod-overlay=none leaves neither podOverlay nor image', () => {
    const message = 'cannot be set: the operator was started with --pod-overlay=none';
    expect(problems(pod({}), 'none', { image: 'x' })).toEqual([`spec.podOverlay ${message}`, `spec.image ${message}`]);
    const { podOverlay: _, ...rest } = sampleAdapter()['spec'] as Record<string, unknown>;
    expect(
      check({ ...sampleAdapter(), spec: rest }, { httpRoutes: true }, { ...DEFAULT_PERMISSIONS, podOverlay: 'none' })
        .ok,
    ).toBe(true);
  });
});
