import type { KubernetesObject } from '../kubernetes/kubernetes.ts';
import { type Key, keyOf, keyText } from '../kubernetes/key.ts';
import type { Cache, Change } from './watched-cache.ts';

type ByName = Map<string, KubernetesObject>;

/** Objects of one resource by namespace and name, with an index for each of some labels. */
export class ObjectStore implements Cache {
  readonly #labels: readonly string[];
  readonly #namespaces = new Map<string, ByName>();
  readonly #index = new Map<string, ByName>();

  constructor(labels: readonly string[] = []) {
    this.#labels = labels;
  }

  get(key: Key): KubernetesObject | undefined {
    return this.#namespaces.get(key.namespace)?.get(key.name);
  }

  list(namespace?: string): readonly KubernetesObject[] {
    if (namespace !== undefined) return [...(this.#namespaces.get(namespace)?.values() ?? [])];
    return [...this.#namespaces.values()].flatMap((objects) => [...objects.values()]);
  }

  byLabel(label: string, namespace: string, value: string): readonly KubernetesObject[] {
    // An empty answer would look like the truth.
    if (!this.#labels.includes(label)) throw new TypeError(`there is no index for the label ${label}`);
    return [...(this.#index.get(indexKey(label, namespace, value))?.values() ?? [])];
  }

  /** Undefined when this version of the object is here already. */
  set(object: KubernetesObject): Change | undefined {
    const key = keyOf(object);
    const old = this.get(key);
    if (old !== undefined && sameVersion(old, object)) return undefined;
    if (old !== undefined) this.#unindex(key, old);
    put(this.#namespaces, key.namespace, key.name, object);
    this.#eachIndex(key, object, (index) => put(this.#index, index, key.name, object));
    return { key, old, new: object };
  }

  remove(key: Key): Change | undefined {
    const old = this.get(key);
    if (old === undefined) return undefined;
    this.#unindex(key, old);
    drop(this.#namespaces, key.namespace, key.name);
    return { key, old };
  }

  /** All that there is: what is not among it has gone. @returns what differs */
  replace(objects: readonly KubernetesObject[]): readonly Change[] {
    const changes: Change[] = [];
    const here = new Set<string>();
    for (const object of objects) {
      const key = keyOf(object);
      here.add(keyText(key));
      const change = this.set(object);
      if (change !== undefined) changes.push(change);
    }
    for (const object of this.list()) {
      const key = keyOf(object);
      const gone = here.has(keyText(key)) ? undefined : this.remove(key);
      if (gone !== undefined) changes.push(gone);
    }
    return changes;
  }

  #unindex(key: Key, object: KubernetesObject): void {
    this.#eachIndex(key, object, (index) => drop(this.#index, index, key.name));
  }

  #eachIndex(key: Key, object: KubernetesObject, visit: (index: string) => void): void {
    for (const label of this.#labels) {
      const value = object.metadata.labels?.[label];
      if (value !== undefined) visit(indexKey(label, key.namespace, value));
    }
  }
}

const indexKey = (label: string, namespace: string, value: string): string => `${namespace} ${label}=${value}`;

const sameVersion = (a: KubernetesObject, b: KubernetesObject): boolean =>
  a.metadata.uid === b.metadata.uid &&
  a.metadata.resourceVersion !== undefined &&
  a.metadata.resourceVersion === b.metadata.resourceVersion;

function put(maps: Map<string, ByName>, group: string, name: string, object: KubernetesObject): void {
  const map = maps.get(group);
  if (map === undefined) maps.set(group, new Map([[name, object]]));
  else map.set(name, object);
}

function drop(maps: Map<string, ByName>, group: string, name: string): void {
  const map = maps.get(group);
  map?.delete(name);
  if (map?.size === 0) maps.delete(group);
}
