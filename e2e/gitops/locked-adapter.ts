import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { eventually } from '../adapter/kit/eventually.ts';
import type { Place } from '../adapter/kit/session.ts';
import { type Asking, asking, type Family } from '../adapter/results/kit/asking.ts';
import { type ChangingLists, startChangingLists } from '../adapter/tools/kit/changing-lists.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { at, execute } from '../cluster/kubectl.ts';
import { plugin } from '../operator/kit/plugin.ts';
import { adapter, onRedis, redis, shared } from '../operator/kit/resources.ts';
import { asObject, type JsonObject } from '../support/scripted-upstream/json-rpc.ts';

const MAIN = join(import.meta.dirname, '../../operator/main.ts');
const FAMILIES: readonly Family[] = ['with a session', 'without a session'];
const READY_MS = 180_000;
/** Between two lists of one client at one replica. */
const POLL_MS = 50;

/** Name of the McpAdapter, and of its McpToolLock. */
export const NAME = 'locked';
/** How long the pods believe a list. */
export const LIFE_MS = 20_000;

/** Three replicas that share their sessions, their lock in a folder as in Git, and a server whose tools a test changes. */
export class LockedAdapter implements AsyncDisposable {
  readonly namespace: string;
  readonly upstream: ChangingLists;
  readonly places: readonly Place[];
  readonly #cluster: Cluster;
  readonly #folder: string;
  readonly #clients: readonly Asking[];
  readonly #started: AsyncDisposable;

  private constructor(parts: {
    readonly cluster: Cluster;
    readonly namespace: string;
    readonly folder: string;
    readonly upstream: ChangingLists;
    readonly places: readonly Place[];
    readonly clients: readonly Asking[];
    readonly started: AsyncDisposable;
  }) {
    this.#cluster = parts.cluster;
    this.namespace = parts.namespace;
    this.#folder = parts.folder;
    this.upstream = parts.upstream;
    this.places = parts.places;
    this.#clients = parts.clients;
    this.#started = parts.started;
  }

  /** Resolves when all pods serve what the server has now, and hold it to a lock of just that. */
  static async start(cluster: Cluster, tools: readonly JsonObject[]): Promise<LockedAdapter> {
    await using starting = new AsyncDisposableStack();
    const namespace = starting.use(await cluster.namespace('tool-lock')).name;
    const folder = await mkdtemp(join(tmpdir(), 'locked-adapter-'));
    starting.defer(() => rm(folder, { recursive: true, force: true }));
    const upstream = starting.use(await startChangingLists(cluster.nodeAddress));
    upstream.tools = [...tools];
    const resource = adapter(NAME, shared(3), {
      ...onRedis('redis'),
      core: { upstream_metadata_cache_ttl_seconds: LIFE_MS / 1000 },
      uploads: { enabled: false },
      servers: [{ id: 'up', mount_path: '/mcp/up', upstream: { url: upstream.url } }],
    });
    await mkdir(join(folder, 'resources'));
    await writeFile(join(folder, 'resources/adapter.yaml'), stringify(resource));
    await lock('create', '-f', join(folder, 'resources'), '--output', join(folder, 'resources/lock.yaml'));
    await cluster.apply(redis('redis'), '-n', namespace);
    // The lock first: it would replace pods that began without one.
    await cluster.run('apply', '--server-side', '-n', namespace, '-f', join(folder, 'resources/lock.yaml'));
    await cluster.run('apply', '--server-side', '-n', namespace, '-f', join(folder, 'resources/adapter.yaml'));
    const where = { namespace, timeoutMs: READY_MS };
    for (const type of ['Ready', 'UpstreamsHealthy', 'StateStoreReady']) {
      await cluster.waitForCondition('mcpadapter', NAME, type, 'True', where);
    }
    await cluster.waitForCondition('mcptoollock', NAME, 'Ready', 'True', where);
    const pods = await cluster.list('pod', namespace, `mcpadapter.io/adapter=${NAME}`);
    const alive = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    const places = alive.map((pod) => ({ url: `http://${String(at(pod, 'status', 'podIP'))}:8932` }));
    if (places.length !== 3) throw new Error(`there are ${places.length} pods, not three`);
    const clients = await Promise.all(FAMILIES.map((family, i) => asking(family, places[i] as Place)));
    const started = starting.move();
    return new LockedAdapter({ cluster, namespace, folder, upstream, places, clients, started });
  }

  /** What `lock approve` makes of the lock in the folder: all that the server has now. Resolves with its text, for Git. */
  async approve(): Promise<string> {
    await lock('approve', '-f', join(this.#folder, 'resources'));
    return this.lock();
  }

  /** The McpToolLock of the folder, YAML. */
  async lock(): Promise<string> {
    return await readFile(join(this.#folder, 'resources/lock.yaml'), 'utf8');
  }

  /** `kubectl apply --server-side` of this lock. Forced: the plugin may have written it meanwhile. */
  async apply(text: string): Promise<void> {
    await this.#cluster.apply(text, '--server-side', '--force-conflicts', '-n', this.namespace);
  }

  /** `kubectl mcpadapter lock approve` of all that differs. */
  async approveInCluster(): Promise<void> {
    const done = await plugin(this.#cluster.kubeconfig, ['lock', 'approve', NAME, '-n', this.namespace]);
    if (done.code !== 0) throw new Error(`exit code ${done.code}: ${done.stderr}${done.stdout}`);
  }

  /** Resolves when another client, which lists nothing, listens for changes of the server's lists through one replica. */
  async listen(family: Family): Promise<AsyncDisposable> {
    const [place] = this.places as [Place];
    const response = await (await asking(family, place)).listen(place);
    await eventually(() => this.upstream.streams.size).toBeGreaterThan(0);
    return {
      [Symbol.asyncDispose]: async () => {
        await response.body?.cancel();
        await eventually(() => this.upstream.streams.size).toBe(0);
      },
    };
  }

  /**
   * Resolves when every client sees just these tools at every replica, with the milliseconds that the slowest needed since
   * then (`performance.now()`). Rejects when one does not in that time.
   */
  async untilListed(names: readonly string[], since: number, timeoutMs: number): Promise<number> {
    const each = this.#everywhere(async (client, place) => {
      for (;;) {
        const listed = await namesAt(client, place);
        const tookMs = performance.now() - since;
        if (JSON.stringify(listed) === JSON.stringify(names)) return tookMs;
        if (tookMs > timeoutMs) throw new Error(`after ${Math.round(tookMs)} ms ${place.url} lists ${String(listed)}`);
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      }
    });
    return Math.max(...(await each));
  }

  /** What every client sees at every replica, once. */
  listed(): Promise<unknown[]> {
    return this.#everywhere(namesAt);
  }

  /** The answer to a call of every client at every replica. */
  call(name: string): Promise<JsonObject[]> {
    return this.#everywhere((client, place) => client.call(place, 'tools/call', { name, arguments: {} }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#started[Symbol.asyncDispose]();
  }

  #everywhere<T>(ask: (client: Asking, place: Place) => Promise<T>): Promise<T[]> {
    return Promise.all(this.#clients.flatMap((client) => this.places.map((place) => ask(client, place))));
  }
}

async function namesAt(client: Asking, place: Place): Promise<unknown[]> {
  const { tools } = asObject((await client.call(place, 'tools/list', {})).result);
  return (tools as JsonObject[]).map(({ name }) => name);
}

const lock = (...args: readonly string[]): Promise<string> => execute(process.execPath, [MAIN, 'lock', ...args]);
