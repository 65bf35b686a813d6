import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { Cluster, TestNamespace } from '../../cluster/cluster.ts';
import { at, type Live } from '../../cluster/kubectl.ts';
import type { Tally } from './load.ts';

const ROOT = join(import.meta.dirname, '../../..');
const EXAMPLE = join(ROOT, 'examples/mcp-adapter-replicas.yaml');
const READY_MS = 240_000;

/** Name of the McpAdapter on the stage. */
export const ADAPTER = 'rollouts';
/** The node that holds all but the adapter, so that the other one can be drained. */
const QUIET_NODE = 'node1';

/** The example with three replicas, a patient upstream, and a client within the cluster that never stops calling. */
export class Stage implements AsyncDisposable {
  readonly cluster: Cluster;
  readonly namespace: string;
  /** The mount, through a port of a node. */
  readonly url: string;
  readonly #namespace: TestNamespace;

  private constructor(cluster: Cluster, namespace: TestNamespace, url: string) {
    this.cluster = cluster;
    this.namespace = namespace.name;
    this.url = url;
    this.#namespace = namespace;
  }

  static async set(cluster: Cluster): Promise<Stage> {
    const namespace = await cluster.namespace('rollouts');
    const where = { namespace: namespace.name, timeoutMs: READY_MS };
    const example = parseAllDocuments(await readFile(EXAMPLE, 'utf8')).map((document) => document.toJS() as Live);
    await cluster.apply(example.map(onStage), '-n', namespace.name);
    await cluster.waitForCondition('mcpadapter', ADAPTER, 'Ready', 'True', where);
    await cluster.waitForCondition('mcpadapter', ADAPTER, 'UpstreamsHealthy', 'True', where);
    const stage = new Stage(cluster, namespace, `${await cluster.nodePortUrl(ADAPTER, namespace.name)}/mcp/demo`);
    await stage.#admitInsideClient();
    return stage;
  }

  /** The adapter's pods, those that are ending included. */
  pods(): Promise<Live[]> {
    return this.cluster.list('pod', this.namespace, `mcpadapter.io/adapter=${ADAPTER}`);
  }

  /** Changes the spec of the adapter, as `kubectl patch` with a merge patch does. */
  async patch(spec: object): Promise<void> {
    const patch = JSON.stringify({ spec });
    await this.cluster.run('patch', 'mcpadapter', ADAPTER, '-n', this.namespace, '--type=merge', '-p', patch);
  }

  /** Waits until the adapter is ready at the generation that it has now. */
  async ready(): Promise<Live> {
    const where = { namespace: this.namespace, timeoutMs: READY_MS };
    return await this.cluster.waitForCondition('mcpadapter', ADAPTER, 'Ready', 'True', where);
  }

  /** What the client within the cluster has counted. Its failures before `since` are left out. */
  async insideTally(since: Date): Promise<Tally> {
    const log = await this.cluster.logs('client', this.namespace);
    const last = log.trimEnd().split('\n').at(-1) ?? '';
    const tally = JSON.parse(last) as Tally;
    return { ...tally, failures: tally.failures.filter(({ time }) => new Date(time) >= since) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#namespace[Symbol.asyncDispose]();
  }

  async #admitInsideClient(): Promise<void> {
    const url = `http://${ADAPTER}.${this.namespace}.svc.cluster.local:8932/mcp/demo`;
    const image = await this.image();
    const metadata = { name: 'client', namespace: this.namespace };
    await this.cluster.apply({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata,
      spec: fromSources(image, 'load-main.ts', url),
    });
    const calls = (): Promise<number> => this.insideTally(new Date()).then((tally) => tally.calls);
    await expect.poll(() => calls().catch(() => 0), { timeout: READY_MS, interval: 500 }).toBeGreaterThan(0);
  }

  /** The image that the adapter's pods run. */
  async image(): Promise<string> {
    const deployment = await this.cluster.get('deployment', ADAPTER, this.namespace);
    return String(at(deployment, 'spec', 'template', 'spec', 'containers', 0, 'image'));
  }
}

/** The example's objects; Redis and upstream hold sessions in memory, so they stay on the node that is never drained. */
function onStage(object: Live): object {
  if (object.kind === 'McpAdapter') return { ...object, metadata: { name: ADAPTER } };
  if (object.kind !== 'Deployment') return object;
  const { spec, ...rest } = object;
  const { template, ...others } = spec as { template: { spec: { containers: { image: string }[] } } };
  const podSpec =
    object.metadata.name === 'demo-upstream'
      ? fromSources(template.spec.containers[0]?.image ?? '', 'upstream.ts', '8931')
      : { ...template.spec, nodeSelector: { 'kubernetes.io/hostname': QUIET_NODE } };
  return { ...rest, spec: { ...others, template: { ...template, spec: podSpec } } };
}

/** A pod that runs a file of this folder, from the sources of this machine. */
function fromSources(image: string, file: string, ...args: readonly string[]): object {
  const command = ['node', `/sources/e2e/operator/kit/${file}`, ...args];
  return {
    nodeSelector: { 'kubernetes.io/hostname': QUIET_NODE },
    containers: [
      {
        name: 'node',
        image,
        command,
        // The folder may be its owner's alone.
        securityContext: { runAsUser: 0 },
        volumeMounts: [{ name: 'sources', mountPath: '/sources', readOnly: true }],
      },
    ],
    volumes: [{ name: 'sources', hostPath: { path: ROOT } }],
    terminationGracePeriodSeconds: 1,
  };
}
