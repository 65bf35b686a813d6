import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type AuditedWrite, auditedWrites } from './audit.ts';
import { searchOutput } from '../support/secrets/search.ts';
import { at, CLUSTER_BIN, execute, Kubectl } from './kubectl.ts';

const SCRIPT = join(import.meta.dirname, 'cluster');
/** Building the binaries from nothing is part of the first start. */
const START_MS = 25 * 60_000;
const PART_MS = 90_000;

/** Parts that stop and start on their own; node parts are called `node1-kubelet`, `node1-containerd`, … */
export type Part = 'etcd' | 'apiserver' | 'controllers' | 'scheduler' | 'proxy' | 'coredns' | `node${1 | 2}-kubelet`;

/** A Kubernetes with two nodes on this machine, see `cluster`. One at a time. */
export class Cluster extends Kubectl {
  readonly dir: string;
  /** Address of a node: NodePorts answer here. */
  readonly nodeAddress = '10.88.0.1';
  readonly nodes: readonly string[] = ['node1', 'node2'];

  /** A cluster that runs. */
  constructor(dir: string) {
    super(join(dir, 'admin.kubeconfig'));
    this.dir = dir;
  }

  /** Resolves when all of it works. Removes first what a cluster in this folder has left that was not stopped. */
  static async start(dir: string): Promise<Cluster> {
    await cluster(dir, PART_MS, 'down');
    await cluster(dir, START_MS, 'up');
    return new Cluster(dir);
  }

  async down(): Promise<void> {
    await cluster(this.dir, PART_MS, 'down');
  }

  /** `KILL` is a crash. Resolves when the part has ended. */
  async stop(part: Part, signal: 'TERM' | 'KILL' = 'TERM'): Promise<void> {
    await cluster(this.dir, PART_MS, 'stop', part, signal);
  }

  /** Resolves, for etcd and the API server, when the API server is ready again. */
  async start(part: Part): Promise<void> {
    await cluster(this.dir, PART_MS, 'start', part);
  }

  async restart(part: Part, signal: 'TERM' | 'KILL' = 'TERM'): Promise<void> {
    await cluster(this.dir, PART_MS, 'restart', part, signal);
  }

  /** Imports an image into all nodes. */
  async load(tar: string): Promise<void> {
    await cluster(this.dir, PART_MS, 'load', tar);
  }

  /** Gives an imported image one more name, for a change of images. Full names: `docker.io/library/mcp-adapter:2`. */
  async tag(image: string, newName: string): Promise<void> {
    await cluster(this.dir, PART_MS, 'tag', image, newName);
  }

  async helm(...args: readonly string[]): Promise<string> {
    return await execute(join(CLUSTER_BIN, 'helm'), ['--kubeconfig', this.kubeconfig, ...args], '', {
      timeoutMs: 300_000,
    });
  }

  /** http://NODE:PORT of a Service of type NodePort, once it has a port. */
  async nodePortUrl(service: string, namespace: string): Promise<string> {
    const portOf = (object: unknown): unknown => at(object, 'spec', 'ports', 0, 'nodePort');
    const live = await this.waitFor('service', service, (object) => portOf(object) !== undefined, { namespace });
    return `http://${this.nodeAddress}:${String(portOf(live))}`;
  }

  /** Makes a namespace under a new name, which is deleted at the end of `await using`. Labels as in `a=b`. */
  async namespace(prefix: string, ...labels: readonly string[]): Promise<TestNamespace> {
    const name = `${prefix}-${Date.now().toString(36)}${Math.random().toString(36).slice(2, 5)}`;
    await this.run('create', 'namespace', name);
    if (labels.length > 0) await this.run('label', 'namespace', name, ...labels);
    return {
      name,
      [Symbol.asyncDispose]: async () => {
        await this.searchLogs('app.kubernetes.io/managed-by=mcp-operator', name);
        await this.run('delete', 'namespace', name, '--wait=false', '--ignore-not-found');
      },
    };
  }

  /** Searches what pods have written for secrets of the tests, where that is done; those that have gone are left out. */
  async searchLogs(selector: string, namespace: string): Promise<void> {
    const search = searchOutput(`pods with ${selector}`);
    search?.(await this.logs(selector, namespace).catch(() => ''));
  }

  /** Successful writes to the API server since then, in order. Leases are left out, and those of other namespaces. */
  async writes(since: Date, namespace?: string): Promise<AuditedWrite[]> {
    const all = auditedWrites(await readFile(join(this.dir, 'audit.log'), 'utf8'));
    return all.filter(
      (write) =>
        write.time >= since &&
        write.resource !== 'leases' &&
        (namespace === undefined || write.namespace === namespace),
    );
  }
}

export interface TestNamespace extends AsyncDisposable {
  readonly name: string;
}

/** Whether a cluster of this folder answers. */
export async function isRunning(dir: string): Promise<boolean> {
  try {
    const kubeconfig = join(dir, 'admin.kubeconfig');
    await access(kubeconfig);
    await new Kubectl(kubeconfig).run('get', 'nodes', '--request-timeout=3s');
    return true;
  } catch {
    return false;
  }
}

const cluster = (dir: string, timeoutMs: number, ...args: readonly string[]): Promise<string> =>
  execute(SCRIPT, args, '', { timeoutMs, env: { CLUSTER_DIR: dir } });
