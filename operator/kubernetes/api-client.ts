import { collectionPath, groupPath, objectPath, queryOf, selectors } from './api-paths.ts';
import { type ApiRequest, ApiTransport, type TransportOptions } from './api-transport.ts';
import {
  ApiError,
  type ApplyOptions,
  type KubernetesApi,
  type KubernetesObject,
  type Name,
  type ObjectList,
  type Resource,
  type Selection,
  type WatchEvent,
} from './kubernetes.ts';
import { watchEvents } from './watch-stream.ts';

export interface ApiClientOptions extends TransportOptions {
  /** Objects in one page of a list. Default: 500. */
  readonly pageSize?: number;
  readonly now?: () => number;
}

const PAGE_SIZE = 500;
/** How often a list whose pages expired is begun again in pages before it is asked for in one piece. */
const PAGED_LISTS = 2;
/** How long the answer of `serves` is kept. A new API should be noticed sooner than one that vanished. */
const SERVED_MS = 60_000;
const NOT_SERVED_MS = 10_000;

interface Page {
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items?: readonly object[] | null;
}

/** A real API server over HTTP, raw JSON in and out. */
export class ApiClient implements KubernetesApi {
  readonly #transport: ApiTransport;
  readonly #pageSize: number;
  readonly #now: () => number;
  /** By apiVersion: the plurals that are served. */
  readonly #served = new Map<string, { readonly until: number; readonly plurals: ReadonlySet<string> }>();

  constructor(options: ApiClientOptions) {
    this.#transport = new ApiTransport(options);
    this.#pageSize = options.pageSize ?? PAGE_SIZE;
    this.#now = options.now ?? (() => performance.now());
  }

  async get(resource: Resource, name: Name, signal?: AbortSignal): Promise<KubernetesObject | undefined> {
    return orUndefined(this.#object({ method: 'GET', path: objectPath(resource, name), signal }));
  }

  async list(
    resource: Resource,
    selection: Selection,
    signal?: AbortSignal,
    keep: (object: KubernetesObject) => KubernetesObject = (object) => object,
  ): Promise<ObjectList> {
    for (let lists = 1; ; lists++) {
      try {
        const limit = resource.pageSize ?? (lists <= PAGED_LISTS ? this.#pageSize : undefined);
        return await this.#pages(resource, selection, { limit, keep, signal });
      } catch (error) {
        // The state that the first page showed has been compacted away before the last one was asked for.
        if (!(error instanceof ApiError) || error.code !== 410 || lists > PAGED_LISTS) throw error;
      }
    }
  }

  async #pages(
    resource: Resource,
    selection: Selection,
    {
      limit,
      keep,
      signal,
    }: {
      readonly limit: number | undefined;
      readonly keep: (object: KubernetesObject) => KubernetesObject;
      readonly signal: AbortSignal | undefined;
    },
  ): Promise<ObjectList> {
    const items: KubernetesObject[] = [];
    let resourceVersion: string | undefined;
    let next: string | undefined;
    do {
      const query = queryOf({ ...selectors(selection), limit, continue: next });
      const path = collectionPath(resource, selection.namespace) + query;
      const page = (await this.#transport.json({ method: 'GET', path, signal })) as Page;
      // Items of built-in kinds come without them in a list, and with them in a watch.
      const { apiVersion, kind } = resource;
      for (const item of page.items ?? []) items.push(keep({ apiVersion, kind, ...item } as KubernetesObject));
      resourceVersion ??= page.metadata?.resourceVersion;
      next = page.metadata?.continue;
    } while (next);
    if (!resourceVersion) throw new Error(`the list of ${resource.plural} has no resourceVersion`);
    return { resourceVersion, items };
  }

  watch(
    resource: Resource,
    selection: Selection & { readonly resourceVersion: string; readonly timeoutSeconds: number },
    signal: AbortSignal,
  ): AsyncIterable<WatchEvent> {
    const query = queryOf({
      ...selectors(selection),
      watch: true,
      allowWatchBookmarks: true,
      resourceVersion: selection.resourceVersion,
      timeoutSeconds: selection.timeoutSeconds,
    });
    const path = collectionPath(resource, selection.namespace) + query;
    return watchEvents(this.#transport.stream({ method: 'GET', path, signal }));
  }

  async apply(object: KubernetesObject, resource: Resource, options: ApplyOptions): Promise<KubernetesObject> {
    const query = queryOf({ fieldManager: options.fieldManager, force: options.force ?? true });
    return this.#object({
      method: 'PATCH',
      path: objectPath(resource, object.metadata, options.subresource) + query,
      // YAML is asked for; JSON is YAML.
      contentType: 'application/apply-patch+yaml',
      body: object,
      signal: options.signal,
    });
  }

  async create(object: KubernetesObject, resource: Resource, signal?: AbortSignal): Promise<KubernetesObject> {
    if (resource.namespaced && !object.metadata.namespace) throw new TypeError(`${resource.kind} needs a namespace`);
    return this.#object({
      method: 'POST',
      path: collectionPath(resource, object.metadata.namespace),
      body: object,
      signal,
    });
  }

  async replace(object: KubernetesObject, resource: Resource, signal?: AbortSignal): Promise<KubernetesObject> {
    return this.#object({ method: 'PUT', path: objectPath(resource, object.metadata), body: object, signal });
  }

  async merge(patch: object, resource: Resource, name: Name, signal?: AbortSignal): Promise<KubernetesObject> {
    const path = objectPath(resource, name);
    return this.#object({ method: 'PATCH', path, contentType: 'application/merge-patch+json', body: patch, signal });
  }

  async delete(
    resource: Resource,
    name: Name,
    preconditions?: { readonly uid?: string },
    signal?: AbortSignal,
  ): Promise<void> {
    const body = {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      propagationPolicy: 'Background',
      ...(preconditions?.uid === undefined ? {} : { preconditions: { uid: preconditions.uid } }),
    };
    try {
      await orUndefined(this.#transport.json({ method: 'DELETE', path: objectPath(resource, name), body, signal }));
    } catch (error) {
      const another = error instanceof ApiError && error.code === 409 && preconditions?.uid !== undefined;
      // The one that was meant is gone already, and another has its name.
      if (!another || (await this.get(resource, name, signal))?.metadata.uid === preconditions.uid) throw error;
    }
  }

  async serves(resource: Resource, signal?: AbortSignal): Promise<boolean> {
    const known = this.#served.get(resource.apiVersion);
    if (known !== undefined && this.#now() < known.until) return known.plurals.has(resource.plural);
    const answer = await orUndefined(
      this.#transport.json({ method: 'GET', path: groupPath(resource.apiVersion), signal }),
    );
    const { resources } = (answer ?? {}) as { resources?: readonly { readonly name: string }[] };
    const plurals = new Set(resources?.map(({ name }) => name));
    const serves = plurals.has(resource.plural);
    this.#served.set(resource.apiVersion, { until: this.#now() + (serves ? SERVED_MS : NOT_SERVED_MS), plurals });
    return serves;
  }

  /** Ends every request and watch. */
  async close(): Promise<void> {
    await this.#transport.close();
  }

  async #object(request: ApiRequest): Promise<KubernetesObject> {
    return (await this.#transport.json(request)) as KubernetesObject;
  }
}

/** Undefined when the API server has no such thing. */
async function orUndefined<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ApiError && error.code === 404) return undefined;
    throw error;
  }
}
