import { join } from 'node:path';
import { expect } from 'vitest';
import type { Cluster, TestNamespace } from '../../cluster/cluster.ts';
import { at, CLUSTER_BIN, conditionOf, execute, type Live } from '../../cluster/kubectl.ts';
import { adapter, CHILD_KINDS, onRedis, redis, shared, upstream, written } from './resources.ts';
import { StatusHistory } from './status-history.ts';

const READY_MS = 180_000;
const SETTLED_MS = 120_000;
const MANAGED = 'app.kubernetes.io/managed-by=mcp-operator';

/** The adapters of a `Patient`: one pod with its state in memory, and two that share it. */
export const SINGLE = 'single';
export const PAIR = 'pair';

/** Two adapters that something happens to, and everything that was said of them meanwhile. */
export class Patient implements AsyncDisposable {
  readonly cluster: Cluster;
  readonly namespace: string;
  readonly #namespace: TestNamespace;
  readonly #history: StatusHistory;

  private constructor(cluster: Cluster, namespace: TestNamespace, history: StatusHistory) {
    this.cluster = cluster;
    this.namespace = namespace.name;
    this.#namespace = namespace;
    this.#history = history;
  }

  static async admit(cluster: Cluster, prefix: string): Promise<Patient> {
    const namespace = await cluster.namespace(prefix);
    const patient = new Patient(cluster, namespace, await StatusHistory.begin(cluster, namespace.name));
    const single = adapter(SINGLE, {}, { state_persistence: { type: 'memory' } });
    const pair = adapter(PAIR, shared(2), onRedis('redis'));
    await cluster.apply([...upstream('upstream'), ...redis('redis'), single, pair], '-n', namespace.name);
    await patient.healthy();
    return patient;
  }

  /** Resolves when both adapters serve as their specs say. */
  async healthy(): Promise<void> {
    for (const name of [SINGLE, PAIR]) {
      for (const type of ['Ready', 'UpstreamsHealthy', 'StateStoreReady']) await this.says(name, type, 'True');
    }
  }

  async says(name: string, type: string, status: 'True' | 'False' | 'Unknown'): Promise<Live> {
    const where = { namespace: this.namespace, timeoutMs: READY_MS };
    return await this.cluster.waitForCondition('mcpadapter', name, type, status, where);
  }

  /** Resolves when the adapter says that it is not ready. */
  async notReady(name: string): Promise<void> {
    const isSo = (object: Live | undefined): boolean => conditionOf(object, 'Ready')?.status !== 'True';
    await this.cluster.waitFor('mcpadapter', name, isSo, { namespace: this.namespace, timeoutMs: READY_MS });
  }

  run(...args: readonly string[]): Promise<string> {
    return this.cluster.run('-n', this.namespace, ...args);
  }

  async merge(resource: string, name: string, patch: object): Promise<void> {
    await this.run('patch', resource, name, '--type=merge', '-p', JSON.stringify(patch));
  }

  /** What the operator has made, as `kind/name` → what is written there; with the uid where it must stay the same one. */
  async children(options: { readonly uids: boolean } = { uids: true }): Promise<Map<string, object>> {
    const objects = await this.cluster.list(CHILD_KINDS.join(','), this.namespace, MANAGED);
    return new Map(
      objects.map((object) => [`${object.kind}/${object.metadata.name}`, comparable(object, options.uids)]),
    );
  }

  /** Resolves when everything is again as it was. */
  async restored(before: ReadonlyMap<string, object>, options?: { readonly uids: boolean }): Promise<void> {
    await expect.poll(() => this.children(options), { timeout: SETTLED_MS, interval: 250 }).toEqual(before);
  }

  /** Says what must never be: children without a resource, and statuses that cannot have been true. */
  async diagnosis(): Promise<string[]> {
    return [...this.#history.impossible(), ...(await orphans(this.cluster, this.namespace))];
  }

  /** Statuses that a condition of an adapter had since then, in order. */
  statusesOf(name: string, type: string, since: Date): string[] {
    const told = this.#history.versions
      .filter(({ kind, object }) => kind === 'McpAdapter' && object.metadata.name === name)
      .map((version) => ({
        at: version.at,
        status: conditionOf(version.object as unknown as Live, type)?.status ?? '',
      }));
    return told
      .filter((one, index) => one.at >= since.getTime() && one.status !== told[index - 1]?.status)
      .map(({ status }) => status);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#history[Symbol.asyncDispose]();
    await this.#namespace[Symbol.asyncDispose]();
  }
}

/** Objects of the operator whose owner does not exist, and those that never had one. Claims may be meant to stay. */
export async function orphans(cluster: Cluster, namespace: string): Promise<string[]> {
  // Owners first: whoever comes in between has one that is newer.
  const children = await cluster.list(CHILD_KINDS.join(','), namespace, MANAGED);
  const owners = await cluster.list('mcpadapters,apiscrapesources', namespace);
  const alive = new Set(owners.map(({ metadata }) => metadata.uid));
  return children
    .filter((child) => {
      const references = (at(child, 'metadata', 'ownerReferences') ?? []) as { readonly uid: string }[];
      return !references.some(({ uid }) => alive.has(uid));
    })
    .map(({ kind, metadata }) => `${kind} ${metadata.name} has no owner`);
}

/** Kills the program of a pod's first container where it runs, with no word to anybody. */
export async function killProgram(cluster: Cluster, pod: Live): Promise<void> {
  const socket = join(cluster.dir, String(at(pod, 'spec', 'nodeName')), 'containerd.sock');
  const container = String(at(pod, 'status', 'containerStatuses', 0, 'containerID')).replace('containerd://', '');
  const kill = ['-n', 'k8s.io', 'tasks', 'kill', '-s', 'SIGKILL', container];
  await execute(join(CLUSTER_BIN, 'ctr'), ['-a', socket, ...kill]);
}

function comparable(object: Live, uid: boolean): object {
  const { metadata, ...content } = written(object) as { metadata: Record<string, unknown> };
  const { annotations, creationTimestamp, uid: id, ...kept } = metadata;
  void creationTimestamp;
  const { 'deployment.kubernetes.io/revision': _, ...own } = (annotations ?? {}) as Record<string, string>;
  return { ...content, metadata: { ...kept, annotations: own, ...(uid ? { uid: id } : {}) } };
}
