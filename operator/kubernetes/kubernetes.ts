/**
 * The Kubernetes API as the operator uses it: raw JSON in and out, because typed models drop the fields that they do not
 * know. One implementation, `api-client.ts`, talks to a real API server; nothing else in the operator does HTTP to it.
 */

/** What every object has. All other members are as the API server gave them. */
export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Metadata;
  readonly [member: string]: unknown;
}

export interface Metadata {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly OwnerReference[];
  readonly finalizers?: readonly string[];
  readonly managedFields?: readonly ManagedFieldsEntry[];
}

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

export interface ManagedFieldsEntry {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly subresource?: string;
  /** When it last changed something. */
  readonly time?: string;
  readonly fieldsV1?: unknown;
}

/** A kind and how its URLs are written. Constants of these stand in `resources.ts`. */
export interface Resource {
  /** `v1`, `apps/v1`, … */
  readonly apiVersion: string;
  readonly kind: string;
  /** Lower-case plural: `deployments`. */
  readonly plural: string;
  readonly namespaced: boolean;
  /**
   * Objects in one page of a list, where they may be so large that a page of the usual length would not fit into memory;
   * such a list is never asked for in one piece.
   */
  readonly pageSize?: number;
}

/** Which objects of a resource: those of one namespace, or of all when it is undefined. */
export interface Selection {
  readonly namespace?: string;
  /** `key=value,key2` */
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

export interface ObjectList {
  readonly resourceVersion: string;
  readonly items: readonly KubernetesObject[];
}

export type WatchEvent =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'; readonly object: KubernetesObject }
  | { readonly type: 'ERROR'; readonly code: number; readonly message: string };

export interface ApplyOptions {
  readonly fieldManager: string;
  /** Takes fields from other managers. Default: true. */
  readonly force?: boolean;
  /** Only `status` exists. */
  readonly subresource?: 'status';
  readonly signal?: AbortSignal;
}

/**
 * Every method ends by itself within a time limit and rejects with `ApiError` for an answer that is no success, or with
 * the transport's error. 429 with Retry-After is retried inside, a few times.
 */
export interface KubernetesApi {
  /** Undefined when there is none. */
  get(resource: Resource, name: Name, signal?: AbortSignal): Promise<KubernetesObject | undefined>;
  /** All pages. What `keep` makes of each object is collected; default: the object. */
  list(
    resource: Resource,
    selection: Selection,
    signal?: AbortSignal,
    keep?: (object: KubernetesObject) => KubernetesObject,
  ): Promise<ObjectList>;
  /** Ends when the server ends the watch; rejects when the stream breaks or `signal` aborts. Bookmarks are asked for. */
  watch(
    resource: Resource,
    selection: Selection & { readonly resourceVersion: string; readonly timeoutSeconds: number },
    signal: AbortSignal,
  ): AsyncIterable<WatchEvent>;
  /** Server-side apply. @returns the object as it is now */
  apply(object: KubernetesObject, resource: Resource, options: ApplyOptions): Promise<KubernetesObject>;
  create(object: KubernetesObject, resource: Resource, signal?: AbortSignal): Promise<KubernetesObject>;
  /** PUT; `metadata.resourceVersion` makes it conditional. */
  replace(object: KubernetesObject, resource: Resource, signal?: AbortSignal): Promise<KubernetesObject>;
  /** JSON merge patch (RFC 7396). */
  merge(patch: object, resource: Resource, name: Name, signal?: AbortSignal): Promise<KubernetesObject>;
  /** In the background. Nothing happens when there is none. With `uid`, only the object with that uid. */
  delete(
    resource: Resource,
    name: Name,
    preconditions?: { readonly uid?: string },
    signal?: AbortSignal,
  ): Promise<void>;
  /** Whether the API server serves this resource now. */
  serves(resource: Resource, signal?: AbortSignal): Promise<boolean>;
}

export interface Name {
  readonly name: string;
  readonly namespace?: string;
}

/** The API server answered with something other than success. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** HTTP status. */
  readonly code: number;
  /** Kubernetes' reason: `NotFound`, `Conflict`, `AlreadyExists`, `Invalid`, `Forbidden`, `Expired`, … */
  readonly reason: string;

  constructor(code: number, reason: string, message: string) {
    super(message);
    this.code = code;
    this.reason = reason;
  }
}
