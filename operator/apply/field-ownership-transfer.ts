import { valueAt } from '../../lib/json/tree.ts';
import { type FieldPath, isSoleOwner, objectWith } from './field-ownership.ts';
import type { KubernetesApi, KubernetesObject, Resource } from '../kubernetes/kubernetes.ts';

/** A field that passes to whoever else writes it, with the value that it has, when an object leaves it out. */
export interface TransferredField {
  readonly resource: Resource;
  readonly path: FieldPath;
}

/**
 * Server-side apply removes a field that only we set and now leave out: a Deployment would fall to one pod before its
 * autoscaler has looked at it. So another manager of ours applies the field once, as it is.
 * Source: Kubernetes, "Server-Side Apply", transferring ownership between managers.
 */
export class FieldOwnershipTransfer {
  readonly #api: KubernetesApi;
  readonly #fieldManager: string;
  readonly #fields: readonly TransferredField[];

  constructor(api: KubernetesApi, fieldManager: string, fields: readonly TransferredField[]) {
    this.#api = api;
    this.#fieldManager = fieldManager;
    this.#fields = fields;
  }

  /** To be called before `desired` is applied over `live`. */
  async before(
    desired: KubernetesObject,
    resource: Resource,
    live: KubernetesObject,
    signal: AbortSignal,
  ): Promise<void> {
    const paths = this.#fields
      .filter((one) => one.resource.kind === resource.kind && one.resource.apiVersion === resource.apiVersion)
      .map(({ path }) => path)
      .filter((path) => valueAt(desired, path) === undefined && valueAt(live, path) !== undefined);
    if (paths.length === 0) return;
    // Caches carry no managed fields.
    const fresh = await this.#api.get(resource, desired.metadata, signal);
    if (fresh === undefined || fresh.metadata.uid !== live.metadata.uid) return;
    for (const path of paths) {
      if (!isSoleOwner(fresh.metadata.managedFields, this.#fieldManager, path)) continue;
      signal.throwIfAborted();
      const { apiVersion, kind, metadata } = desired;
      const field = objectWith(path, valueAt(fresh, path));
      const part = { ...field, apiVersion, kind, metadata: { name: metadata.name, namespace: metadata.namespace } };
      // Without force: a value that has changed in between belongs to the one who changed it.
      await this.#api.apply(onto(part, fresh), resource, {
        fieldManager: `${this.#fieldManager}-handover`,
        force: false,
      });
    }
  }
}

/** With the uid, only this very object can be changed: not one that has taken its name since. */
export function onto(object: KubernetesObject, live: KubernetesObject | undefined): KubernetesObject {
  if (live?.metadata.uid === undefined) return object;
  return { ...object, metadata: { ...object.metadata, uid: live.metadata.uid } };
}
