/** How `spec.podOverlay` is laid over the pod template: like a strategic merge, for fields that we need not know. */

import { isObject } from '../../lib/json/json-object.ts';

/** Lists whose entries are told apart by a field. Source: patchMergeKey in the Kubernetes API. */
const KEYS: Readonly<Record<string, string>> = {
  containers: 'name',
  initContainers: 'name',
  volumes: 'name',
  env: 'name',
  ports: 'name',
  imagePullSecrets: 'name',
  resourceClaims: 'name',
  claims: 'name',
  volumeMounts: 'mountPath',
  volumeDevices: 'devicePath',
  topologySpreadConstraints: 'topologyKey',
  hostAliases: 'ip',
};

/** Fields of which an object has only one: setting one takes the others away. */
const ONE_OF: readonly ReadonlySet<string>[] = [
  new Set(['value', 'valueFrom']),
  new Set(['exec', 'httpGet', 'tcpSocket', 'grpc', 'sleep']),
];

type Tree = Readonly<Record<string, unknown>>;

/**
 * Maps merge, and null removes a field. Of lists, those in `KEYS` merge entry by entry (`$patch: delete` removes one),
 * other lists of objects append, and lists of texts or numbers replace.
 */
export function overlay(base: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  return mergeMaps(isObject(base) ? base : {}, patch);
}

function mergeMaps(base: Tree, patch: Tree): Tree {
  const result = new Map(Object.entries(base).filter(([key]) => !displaced(key, patch)));
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) result.delete(key);
    else
      result.set(key, Array.isArray(value) ? mergeLists(key, result.get(key), value) : overlay(result.get(key), value));
  }
  return Object.fromEntries(result);
}

function mergeLists(field: string, base: unknown, patch: readonly unknown[]): unknown[] {
  const result: unknown[] = Array.isArray(base) ? [...base] : [];
  const key = KEYS[field];
  if (key === undefined) return patch.some(isObject) ? [...result, ...patch] : [...patch];
  for (const entry of patch) {
    const id = isObject(entry) ? entry[key] : undefined;
    const index = id === undefined ? -1 : result.findIndex((known) => isObject(known) && known[key] === id);
    if (isObject(entry) && entry['$patch'] === 'delete') {
      if (index >= 0) result.splice(index, 1);
    } else if (index < 0) result.push(overlay({}, entry));
    else result[index] = mergeEntry(field, result[index], entry);
  }
  return result;
}

/** A volume has one source: with another one, nothing of the old one stays. */
function mergeEntry(field: string, base: unknown, entry: unknown): unknown {
  if (field !== 'volumes' || !isObject(base) || !isObject(entry)) return overlay(base, entry);
  return mergeMaps(Object.fromEntries(Object.entries(base).filter(([key]) => key in entry)), entry);
}

const displaced = (key: string, patch: Tree): boolean =>
  ONE_OF.some(
    (group) =>
      group.has(key) &&
      !Object.hasOwn(patch, key) &&
      Object.entries(patch).some(([other, value]) => group.has(other) && value !== null),
  );
