import { createHash } from 'node:crypto';
import { isObject } from '../../lib/json/json-object.ts';
import type { KubernetesObject } from './kubernetes.ts';

/** SHA-256 (hex) of a JSON value, whatever the order of its keys. */
export function hashOf(value: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(value, sortKeys) ?? '')
    .digest('hex');
}

/**
 * Hash of what people and controllers write into an object. Left out is what changes without that: status, versions,
 * managed fields, and the type, which items of a list do not carry. The uid is in it: an object that was made anew is
 * another one.
 */
export function contentHash(object: KubernetesObject): string {
  const known = (object as Placeholder)[HASH];
  if (known !== undefined) return known;
  const { apiVersion: _apiVersion, kind: _kind, status: _status, metadata, ...content } = object;
  const { resourceVersion: _version, generation: _generation, managedFields: _fields, ...kept } = metadata;
  return hashOf({ ...content, metadata: kept });
}

const HASH = Symbol('content hash');

type Placeholder = KubernetesObject & { readonly [HASH]?: string };

/** The part of an object that is worth keeping, with the content hash of the whole. Copies of it have the hash too. */
export function placeholder(part: KubernetesObject, whole: KubernetesObject): KubernetesObject {
  const kept: Placeholder = { ...part, [HASH]: contentHash(whole) };
  return kept;
}

function sortKeys(_key: string, value: unknown): unknown {
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
