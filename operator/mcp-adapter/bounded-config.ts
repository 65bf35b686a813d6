import { type Path, valueAt } from '../../crds/config/tree.ts';
import type { McpAdapterSpec } from '../../crds/v1alpha1/mcp-adapter.ts';
import { bytesOf } from '../pods/grown-claims.ts';
import { isObject } from '../runtime/raw.ts';

/** About 50 KB each, a third of the default memory limit. */
const MAX_SESSIONS = 2000;
/** A day. */
const IDLE_SECONDS = 86_400;
/** Beside files, the volume has the state, and a file system takes its part. */
const SHARE = 0.9;
/** Of a folder whose size nobody has named: it takes space of the node. */
const TEMPORARY_BYTES = 1024 ** 3;

/**
 * What the adapter's own file leaves unlimited, and a pod with a memory limit and a volume has to limit. A field that the
 * resource sets, also to null, is the user's.
 */
export function boundedConfig({ config, storage }: McpAdapterSpec): unknown {
  const defaults: readonly (readonly [Path, unknown])[] = [
    [['sessions', 'max_active'], MAX_SESSIONS],
    [['sessions', 'idle_ttl_seconds'], IDLE_SECONDS],
    [['storage', 'max_size'], storageBytes(storage)],
  ];
  return defaults.reduce<unknown>(
    (document, [path, value]) => (value === undefined ? document : withDefault(document, path, value)),
    config,
  );
}

/** Undefined where only the cluster knows the size of the volume. */
function storageBytes(storage: McpAdapterSpec['storage']): number | undefined {
  if (storage?.existingClaim !== undefined) return undefined;
  const bytes = bytesOf(storage?.claim?.size ?? storage?.temporary?.sizeLimit ?? TEMPORARY_BYTES);
  return bytes > 0 ? Math.floor(bytes * SHARE) : undefined;
}

/** The document with the value where nothing stands. Sections may be missing or empty. */
function withDefault(document: unknown, [key = '', ...rest]: Path, value: unknown): unknown {
  const inner = valueAt(document, [key]);
  if (document !== null && document !== undefined && !isObject(document)) return document;
  if (rest.length === 0) return inner === undefined ? { ...document, [key]: value } : document;
  return { ...document, [key]: withDefault(inner, rest, value) };
}
