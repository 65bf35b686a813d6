/** Resources that tests apply: small ones, which differ only in what a test is about. */
import type { Live } from '../../cluster/kubectl.ts';

const OPENED = { runAsUser: 65532, runAsNonRoot: true };

/** `SERVICE:8931` is the MCP server of the examples. */
export function upstream(name: string, image = 'mcp-adapter:0.1.0'): object[] {
  return workload(name, 8931, {
    image,
    command: ['mcp-demo-server', '--host', '0.0.0.0', '--port', '8931'],
  });
}

/** Without password and disk. */
export function redis(name: string): object[] {
  return workload(name, 6379, {
    image: 'redis:7',
    command: ['redis-server', '--save', '', '--dir', '/tmp', '--protected-mode', 'no'],
  });
}

/** An adapter with one server; everything in `spec` and `config` stands beside that. */
export function adapter(name: string, spec: object = {}, config: object = {}, metadata: object = {}): object {
  return {
    apiVersion: 'mcpadapter.io/v1alpha1',
    kind: 'McpAdapter',
    metadata: { name, ...metadata },
    spec: {
      config: {
        servers: [{ id: 'demo', mount_path: '/mcp/demo', upstream: { url: 'http://upstream:8931/mcp' } }],
        ...config,
      },
      resources: { requests: { cpu: '10m', memory: '64Mi' } },
      ...spec,
    },
  };
}

/** The `config` of adapters that share their state; their storage has to be shared, too. */
export const onRedis = (host: string): object => ({ state_persistence: { type: 'redis', redis: { host } } });

/** The `spec` of adapters that share their storage. */
export const shared = (replicas: number): object => ({
  replicas,
  storage: { claim: { size: '1Gi', accessModes: ['ReadWriteMany'] } },
  deletionPolicy: 'Delete',
});

/** A source that asks an API which is not there, once an hour. */
export function source(name: string, group: string, metadata: object = {}): object {
  return {
    apiVersion: 'mcpadapter.io/v1alpha1',
    kind: 'ApiScrapeSource',
    metadata: { name, ...metadata },
    spec: {
      group,
      scraper: { otelCollectorEndpoint: 'http://127.0.0.1:4317' },
      source: {
        name,
        frequency: '1h',
        baseUrl: 'http://127.0.0.1:1',
        endpoint: `/${name}`,
        scrape: { type: 'instant' },
        gaugeReadings: [{ name: `${name}.value`, dataKey: 'value' }],
      },
    },
  };
}

/** Kinds that the operator makes. */
export const CHILD_KINDS = [
  'configmap',
  'deployment',
  'service',
  'serviceaccount',
  'persistentvolumeclaim',
  'poddisruptionbudget',
  'horizontalpodautoscaler',
  'networkpolicy',
  'ingress',
];

/** What somebody wrote into an object: without status, versions and the marks of those who wrote. */
export function written(object: Live): object {
  const { status: _, metadata, ...content } = object;
  const { resourceVersion, generation, managedFields, ...kept } = metadata as Live['metadata'] & {
    managedFields?: unknown;
  };
  void [resourceVersion, generation, managedFields];
  return { ...content, metadata: kept };
}

function workload(name: string, port: number, container: { image: string; command: readonly string[] }): object[] {
  const labels = { app: name };
  return [
    { apiVersion: 'v1', kind: 'Service', metadata: { name }, spec: { selector: labels, ports: [{ port }] } },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name },
      spec: {
        strategy: { type: 'Recreate' },
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            terminationGracePeriodSeconds: 1,
            securityContext: OPENED,
            containers: [
              {
                name,
                ...container,
                ports: [{ containerPort: port }],
                readinessProbe: { tcpSocket: { port }, periodSeconds: 1 },
                volumeMounts: [{ name: 'tmp', mountPath: '/tmp' }],
              },
            ],
            volumes: [{ name: 'tmp', emptyDir: {} }],
          },
        },
      },
    },
  ];
}
