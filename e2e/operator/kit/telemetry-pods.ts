/** What a scraper has on both sides, as pods: the demo API of the examples, and a real collector. */
import { basename, dirname, join } from 'node:path';
import { COLLECTOR_PROGRAM } from '../../support/collector/collector.ts';

const ROOT = join(import.meta.dirname, '../../..');

/** `SERVICE:8941` is the API of examples/scraper, from the sources of this machine. */
export function demoApi(name: string): object[] {
  const command = ['node', '/sources/examples/scraper/api.ts', '--host', '0.0.0.0', '--port', '8941'];
  return workload(name, 8941, { command, folders: { '/sources': ROOT } });
}

/** What `collectorPod` reads; it belongs into its folder under this name. */
export const COLLECTOR_CONFIG = 'config.yaml';
/** Where in its folder the collector puts what it takes. */
export const TELEMETRY = 'telemetry.jsonl';

/** JSON is YAML. What is acknowledged stands in the file: with rotation it writes without a buffer. */
export const collectorConfig = (): string =>
  JSON.stringify({
    receivers: { otlp: { protocols: { http: { endpoint: '0.0.0.0:4318' } } } },
    exporters: { file: { path: `/data/${TELEMETRY}`, rotation: { max_megabytes: 2000 } } },
    service: {
      telemetry: { metrics: { level: 'none' } },
      pipelines: {
        metrics: { receivers: ['otlp'], exporters: ['file'] },
        logs: { receivers: ['otlp'], exporters: ['file'] },
      },
    },
  });

/** `SERVICE:4318` takes OTLP over HTTP, and writes it into a folder of this machine. */
export function collectorPod(name: string, folder: string): object[] {
  const program = `/program/${basename(COLLECTOR_PROGRAM)}`;
  const command = [program, '--config', `file:/data/${COLLECTOR_CONFIG}`];
  return workload(name, 4318, { command, folders: { '/program': dirname(COLLECTOR_PROGRAM), '/data': folder } });
}

function workload(
  name: string,
  port: number,
  { command, folders }: { command: readonly string[]; folders: Readonly<Record<string, string>> },
): object[] {
  const labels = { app: name };
  const mounted = Object.entries(folders).map(([mountPath, path], index) => ({ name: `f${index}`, mountPath, path }));
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
            containers: [
              {
                name,
                image: 'mcp-adapter:0.1.0',
                command,
                // The folders may be their owner's alone.
                securityContext: { runAsUser: 0 },
                ports: [{ containerPort: port }],
                readinessProbe: { tcpSocket: { port }, periodSeconds: 1 },
                volumeMounts: mounted.map(({ name, mountPath }) => ({ name, mountPath })),
              },
            ],
            volumes: mounted.map(({ name, path }) => ({ name, hostPath: { path } })),
          },
        },
      },
    },
  ];
}
