import { valueAt } from '../../lib/json/tree.ts';
import { type FieldPath, objectWith } from './field-ownership.ts';
import type { KubernetesApi, KubernetesObject, Resource } from '../kubernetes/kubernetes.ts';
import { isObject } from '../../lib/json/json-object.ts';

/**
 * A field that nobody else has a share in: what others add to it is taken away again. Server-side apply alone leaves
 * that, as it does with what others write beside our fields.
 */
export interface ExactField {
  /** Undefined: of every kind. */
  readonly resource?: Resource;
  readonly path: FieldPath;
  /** For lists: by which members the API server tells one item from another; what it sets where one is left out. */
  readonly keys?: Readonly<Record<string, unknown>>;
  /** Whether it counts only where it is applied. */
  readonly onlyWhenSet?: boolean;
}

/** Takes away what others have added to exact fields. */
export class ExactFields {
  readonly #api: Pick<KubernetesApi, 'merge'>;
  readonly #fields: readonly ExactField[];

  constructor(api: Pick<KubernetesApi, 'merge'>, fields: readonly ExactField[]) {
    this.#api = api;
    this.#fields = fields;
  }

  /** @returns the object after that; undefined when nothing was added */
  async restore(
    desired: KubernetesObject,
    resource: Resource,
    live: KubernetesObject,
  ): Promise<KubernetesObject | undefined> {
    const fields = this.#fields.filter((one) => one.resource === undefined || one.resource === resource);
    const patches = fields.flatMap((field) => {
      const value = restored(valueAt(desired, field.path), valueAt(live, field.path), field);
      return value === undefined ? [] : [objectWith(field.path, value)];
    });
    if (patches.length === 0) return undefined;
    const { uid, resourceVersion } = live.metadata;
    // Of what somebody changes at the same time nothing is lost.
    const patch = patches.reduce<Patch>(merged, { metadata: { uid, resourceVersion } });
    return this.#api.merge(patch, resource, desired.metadata);
  }
}

/** The field's part of a JSON merge patch; undefined when nothing was added. */
function restored(wanted: unknown, live: unknown, { keys, onlyWhenSet }: ExactField): unknown {
  if (live === undefined || live === null || (wanted === undefined && onlyWhenSet === true)) return undefined;
  if (wanted === undefined) return null;
  if (Array.isArray(wanted) && Array.isArray(live) && keys !== undefined) return restoredList(wanted, live, keys);
  if (!isObject(wanted) || !isObject(live)) return undefined;
  const added = Object.keys(live).filter((key) => wanted[key] === undefined);
  return added.length === 0 ? undefined : { ...wanted, ...Object.fromEntries(added.map((key) => [key, null])) };
}

function restoredList(
  wanted: readonly unknown[],
  live: readonly unknown[],
  keys: Readonly<Record<string, unknown>>,
): unknown[] | undefined {
  const keyOf = (item: unknown): string =>
    JSON.stringify(Object.entries(keys).map(([key, usual]) => valueAt(item, [key]) ?? usual));
  const known = new Set(wanted.map(keyOf));
  if (live.every((item) => known.has(keyOf(item)))) return undefined;
  // What the API server gave an item stays with it, also when its key was edited: the port on the nodes, for example.
  const isSame = (a: unknown, b: unknown): boolean =>
    keyOf(a) === keyOf(b) || (valueAt(a, ['name']) !== undefined && valueAt(a, ['name']) === valueAt(b, ['name']));
  return wanted.map((item) => ({
    ...(live.find((one) => isSame(one, item)) as object | undefined),
    ...(item as object),
  }));
}

type Patch = Readonly<Record<string, unknown>>;

function merged(a: Patch, b: Patch): Patch {
  const both = Object.entries(b).map(([key, value]): [string, unknown] => {
    const other = a[key];
    return [key, isObject(other) && isObject(value) ? merged(other, value) : value];
  });
  return { ...a, ...Object.fromEntries(both) };
}
