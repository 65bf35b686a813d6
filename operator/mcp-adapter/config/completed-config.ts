import { type Path, valueAt } from '../../../lib/json/tree.ts';
import type { McpAdapter, McpAdapterSpec } from '../../../crds/v1alpha1/mcp-adapter.ts';
import { bytesOf } from '../../pods/grown-claims.ts';
import { isObject } from '../../../lib/json/json-object.ts';
import { outsideUrl } from './address.ts';

/** About 50 KB each, a third of the default memory limit. */
const MAX_SESSIONS = 2000;
/** A day. */
const IDLE_SECONDS = 86_400;
/** Beside files, the volume has the state, and a file system takes its part. */
const SHARE = 0.9;
/** Of a folder whose size nobody has named: it takes space of the node. */
const TEMPORARY_BYTES = 1024 ** 3;

/**
 * The configuration with what only the rest of the resource says: limits that fit a pod with a memory limit and a volume,
 * where the adapter's own file has none, and the names by which clients reach it. A field that the resource sets, also to
 * null, is the user's.
 */
export function completedConfig(adapter: McpAdapter): unknown {
  const { spec } = adapter;
  const defaults: readonly (readonly [Path, unknown])[] = [
    [['sessions', 'max_active'], MAX_SESSIONS],
    [['sessions', 'idle_ttl_seconds'], IDLE_SECONDS],
    [['storage', 'max_size'], storageBytes(spec.storage)],
    [['core', 'public_base_url'], outsideUrl(spec)],
    [['core', 'trusted_proxies'], trustedProxies(spec)],
    [['core', 'allowed_hosts'], allowedHosts(adapter)],
  ];
  return defaults.reduce<unknown>(
    (document, [path, value]) => (value === undefined ? document : withDefault(document, path, value)),
    spec.config,
  );
}

/** Undefined where only the cluster knows the size of the volume. */
function storageBytes(storage: McpAdapterSpec['storage']): number | undefined {
  if (storage?.existingClaim !== undefined) return undefined;
  const bytes = bytesOf(storage?.claim?.size ?? storage?.temporary?.sizeLimit ?? TEMPORARY_BYTES);
  return bytes > 0 ? Math.floor(bytes * SHARE) : undefined;
}

const comesFromOutside = ({ ingress, httpRoute }: McpAdapterSpec): boolean =>
  ingress !== undefined || httpRoute !== undefined;

const isInternal = ({ service }: McpAdapterSpec): boolean => (service?.type ?? 'ClusterIP') === 'ClusterIP';

/**
 * Controllers of Ingresses and Gateways are pods. Without one there is only what runs beside the adapter; what is in front
 * of ports of the nodes nobody knows.
 */
function trustedProxies(spec: McpAdapterSpec): string[] | undefined {
  if (comesFromOutside(spec)) return ['loopback', 'uniquelocal'];
  return isInternal(spec) ? ['loopback'] : undefined;
}

/**
 * Names that clients say in `Host`. Undefined where others may lead to the adapter that the resource does not tell: a
 * load balancer's own name, or any host of a Gateway.
 */
function allowedHosts({ metadata: { name, namespace = 'default' }, spec }: McpAdapter): string[] | undefined {
  const { ingress, httpRoute } = spec;
  const isAnyHost = httpRoute !== undefined && (httpRoute.hostnames ?? []).length === 0;
  if (isAnyHost || !isInternal(spec)) return undefined;
  const inside = ['', '.svc', '.svc.cluster.local', '.svc.clusterset.local'].map(
    (domain) => `${name}.${namespace}${domain}`,
  );
  return [name, ...inside, ...(ingress === undefined ? [] : [ingress.host]), ...(httpRoute?.hostnames ?? [])];
}

/** The document with the value where nothing stands. Sections may be missing or empty. */
function withDefault(document: unknown, [key = '', ...rest]: Path, value: unknown): unknown {
  if (document !== null && document !== undefined && !isObject(document)) return document;
  const inner = valueAt(document, [key]);
  if (rest.length === 0) return inner === undefined ? { ...document, [key]: value } : document;
  return { ...document, [key]: withDefault(inner, rest, value) };
}
