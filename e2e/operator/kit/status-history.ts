import { setTimeout as delay } from 'node:timers/promises';
import type { Cluster } from '../../cluster/cluster.ts';
import { ApiClient } from '../../../operator/kubernetes/api-client.ts';
import { kubeconfigCredentials } from '../../../operator/kubernetes/kubeconfig-credentials.ts';
import { ApiError, type KubernetesObject, type Resource } from '../../../operator/kubernetes/kubernetes.ts';
import { DEPLOYMENTS, MCP_ADAPTERS } from '../../../operator/kubernetes/resources.ts';
import { type Gap, impossibleStatuses, type Version } from './impossible.ts';

const AGAIN_MS = 50;
const WATCH_SECONDS = 300;

/**
 * Every version of the McpAdapters of a namespace and of their Deployments from now on, also those of a moment. An API
 * server that was restarted no longer knows versions from before; those that nobody saw are a gap.
 */
export class StatusHistory implements AsyncDisposable {
  readonly versions: Version[] = [];
  readonly #client: ApiClient;
  readonly #stopping = new AbortController();
  readonly #gaps: Gap[] = [];
  #running: Promise<unknown> = Promise.resolve();

  private constructor(client: ApiClient) {
    this.#client = client;
  }

  static async begin(cluster: Cluster, namespace: string): Promise<StatusHistory> {
    const credentials = await kubeconfigCredentials(cluster.kubeconfig);
    const history = new StatusHistory(new ApiClient({ credentials, userAgent: 'status-history' }));
    const follows = [MCP_ADAPTERS, DEPLOYMENTS].map(async (resource) => {
      const list = await history.#client.list(resource, { namespace });
      for (const object of list.items) history.#add('MODIFIED', object, resource);
      return { resource, resourceVersion: list.resourceVersion };
    });
    const from = await Promise.all(follows);
    history.#running = Promise.all(from.map((one) => history.#follow(one.resource, namespace, one.resourceVersion)));
    return history;
  }

  /** What was ever said that cannot have been so, as sentences. */
  impossible(): string[] {
    return impossibleStatuses(this.versions, this.#gaps, Date.now());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    await this.#client.close();
  }

  async #follow(resource: Resource, namespace: string, from: string): Promise<void> {
    const { signal } = this.#stopping;
    let resourceVersion = from;
    while (!signal.aborted) {
      try {
        const where = { namespace, resourceVersion, timeoutSeconds: WATCH_SECONDS };
        for await (const event of this.#client.watch(resource, where, signal)) {
          if (event.type === 'ERROR') throw new ApiError(event.code, 'WatchError', event.message);
          resourceVersion = event.object.metadata.resourceVersion ?? resourceVersion;
          if (event.type !== 'BOOKMARK') this.#add(event.type, event.object, resource);
        }
      } catch (error) {
        if (!(error instanceof ApiError && error.code === 410)) {
          await delay(AGAIN_MS, undefined, { signal }).catch(() => undefined);
          continue;
        }
        const list = await this.#client.list(resource, { namespace }).catch(() => undefined);
        if (list === undefined) continue;
        this.#gaps.push({ after: resourceVersion, until: list.resourceVersion });
        for (const object of list.items) this.#add('MODIFIED', object, resource);
        resourceVersion = list.resourceVersion;
      }
    }
  }

  #add(type: string, object: KubernetesObject, { kind }: Resource): void {
    this.versions.push({ at: Date.now(), kind, deleted: type === 'DELETED', object });
  }
}
