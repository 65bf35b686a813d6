import { createHash } from 'node:crypto';
import { dottedPath, type Problem } from '../../../crds/config/load/problem.ts';
import { schemaProblems } from '../../../crds/config/load/schema-problems.ts';
import { McpToolLockSpec, type McpToolLockStatus } from '../../../crds/v1alpha1/mcp-tool-lock.ts';
import { valueAt } from '../../../lib/json/tree.ts';
import type { KubernetesObject } from '../../kubernetes/kubernetes.ts';
import { isObject } from '../../../lib/json/json-object.ts';
import { textAt } from '../../kubernetes/unstructured.ts';
import { withoutManagedFields } from '../../kubernetes/without-fields.ts';
import { problemsText } from '../../validation/problems-text.ts';

/** A McpToolLock as the caches keep it: without its document, which is up to 1 MiB and seldom needed (`readLock`). */
export interface CachedLock extends KubernetesObject {
  /** Only who it is for. */
  readonly spec: { readonly adapterRef?: { readonly name?: string } };
  readonly content: LockContent;
  readonly status?: McpToolLockStatus;
}

export interface LockContent {
  /** Start of the SHA-256 of the document as pods get it; '' for one that is refused. */
  readonly digest: string;
  readonly refusal: LockRefusal | undefined;
}

export interface LockText extends LockContent {
  /** The document as pods get it, JSON; '' for one that is refused. */
  readonly text: string;
}

/** Why a lock cannot be used; the reason of its condition `Accepted`. */
export interface LockRefusal {
  readonly reason: 'InvalidSpec' | 'TooLarge' | 'AdapterLocked';
  readonly message: string;
}

/** Of the data of a ConfigMap, in bytes. Source: Kubernetes, "ConfigMaps", "Motivation". */
export const MAX_LOCK_BYTES = 1024 * 1024;
const DIGEST_CHARS = 32;
/** kubectl keeps the whole object in it once more. */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';
const KINDS = ['tools', 'prompts', 'resourceTemplates'];

/** @param object as the API server gave it, with any spec that it may have taken */
export function cachedLock(object: KubernetesObject): CachedLock {
  const { apiVersion, kind, metadata, spec, status } = withoutManagedFields(object);
  const { [LAST_APPLIED]: _last, ...annotations } = metadata.annotations ?? {};
  const name = textAt(spec, 'adapterRef', 'name');
  const { text: _text, ...content } = lockText(spec);
  return {
    apiVersion,
    kind,
    metadata: { ...metadata, annotations },
    spec: name === undefined ? {} : { adapterRef: { name } },
    content,
    ...(isObject(status) ? { status } : {}),
  };
}

/** What of a lock is judged without anything else. */
export function lockText(spec: unknown): LockText {
  const problems = problemsOf(spec);
  if (problems.length > 0) return refused('InvalidSpec', problemsText(problems));
  const { adapterRef: _adapterRef, ...document } = spec as Record<string, unknown>;
  // Of the API server members come sorted.
  const text = JSON.stringify(document);
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_LOCK_BYTES) {
    const message =
      `The lock is ${bytes} bytes long, and the ConfigMap that brings it to the pods can hold ${MAX_LOCK_BYTES}. ` +
      'Spread the servers over several adapters, or lock fewer of their definitions';
    return refused('TooLarge', message);
  }
  return { text, digest: digestOf(text), refusal: undefined };
}

const refused = (reason: LockRefusal['reason'], message: string): LockText => ({
  text: '',
  digest: '',
  refusal: { reason, message },
});

const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, DIGEST_CHARS);

/** Everything that is wrong with it, from the root of the resource. */
export function problemsOf(spec: unknown): Problem[] {
  const parsed = McpToolLockSpec.safeParse(spec);
  const invalid = parsed.success
    ? []
    : schemaProblems(parsed.error.issues, { schema: McpToolLockSpec, document: spec, references: [] }).map(
        ({ problem }) => problem,
      );
  return [...invalid.map((problem) => ({ ...problem, path: below(problem.path) })), ...protoProblems(spec)];
}

const below = (path: string): string => (path === '' ? 'spec' : `spec${path.startsWith('[') ? '' : '.'}${path}`);

/** The schema passes over such members, and pods refuse them. */
function protoProblems(spec: unknown): Problem[] {
  const servers = valueAt(spec, ['servers']);
  const ids = isObject(servers) ? Object.keys(servers) : [];
  const maps = [['servers'], ...ids.flatMap((id) => KINDS.map((kind) => ['servers', id, kind]))];
  return maps
    .map((map) => [...map, '__proto__'])
    .filter((path) => valueAt(spec, path) !== undefined)
    .map((path) => ({ path: below(dottedPath(path)), message: 'is no name that a lock can hold' }));
}
