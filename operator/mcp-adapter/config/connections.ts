/** Where an adapter connects to, as far as its configuration says it. */
import { StatePersistence } from '../../../crds/config/adapter-file/state-persistence.ts';
import { Telemetry } from '../../../crds/config/adapter-file/telemetry.ts';
import { type Path, valueAt } from '../../../lib/json/tree.ts';
import { type Connection, hostname, targetOfUrl } from '../../validation/connections.ts';
import { isObject } from '../../../lib/json/json-object.ts';
import { listAt } from '../../kubernetes/unstructured.ts';
import { isUnknown } from '../../validation/known-values.ts';

/** @param config with references resolved, and unknown values marked */
export function connectionsOf(config: unknown, stateType: string | undefined): Connection[] {
  const servers = valueAt(config, ['servers']);
  const upstreams = (Array.isArray(servers) ? servers : []).map((server: unknown, index) => ({
    field: `servers[${index}].upstream.url`,
    target: targetOfUrl(valueAt(server, ['upstream', 'url'])),
  }));
  return [...upstreams, ...issuers(config), ...redis(config, stateType), ...s3(config), ...telemetry(config)];
}

/** Every section about an authorization server. */
export const oauthSections = (config: unknown): { readonly field: string; readonly oauth: unknown }[] =>
  [
    { field: 'core.auth.oauth', oauth: valueAt(config, ['core', 'auth', 'oauth']) },
    ...listAt(config, 'servers').map((server: unknown, index) => ({
      field: `servers[${index}].auth.oauth`,
      oauth: valueAt(server, ['auth', 'oauth']),
    })),
  ].filter(({ oauth }) => isObject(oauth));

/** Authorization servers: where their metadata, keys and introspection are. Keys may be elsewhere than metadata says. */
function issuers(config: unknown): Connection[] {
  const paths = [['issuer'], ['jwks_uri'], ['introspection', 'endpoint']];
  return oauthSections(config).flatMap(({ field, oauth }) =>
    paths.flatMap((path) => {
      const url = valueAt(oauth, path);
      return typeof url === 'string' ? [{ field: [field, ...path].join('.'), target: targetOfUrl(url) }] : [];
    }),
  );
}

/** @returns one even where the bucket is wrong: the adapter decides about that */
function s3(config: unknown): Connection[] {
  const section = valueAt(config, ['storage', 's3']);
  if (typeof section !== 'object' || section === null) return [];
  const endpoint = valueAt(section, ['endpoint']);
  if (typeof endpoint === 'string' && endpoint.trim() !== '') {
    return [{ field: 'storage.s3.endpoint', target: targetOfUrl(endpoint) }];
  }
  // The name of the host depends on the region, and all of them are outside of the cluster.
  return [{ field: 'storage.s3', target: { host: 's3.amazonaws.com', ports: [443] } }];
}

function redis(config: unknown, stateType: string | undefined): Connection[] {
  const path: Path = ['state_persistence', 'redis'];
  const host = valueAt(config, [...path, 'host']);
  if (stateType === 'memory' || stateType === 'disk' || typeof host !== 'string' || host.trim() === '') return [];
  const port = valueAt(config, [...path, 'port']);
  const parsed = StatePersistence.shape.redis.safeParse({ port });
  const known = !isUnknown(host) && !isUnknown(port) && parsed.success;
  const target = known ? { host: hostname(host.trim()), ports: [parsed.data.port] } : undefined;
  return [{ field: 'state_persistence.redis.host', target }];
}

function telemetry(config: unknown): Connection[] {
  const at = (name: string): unknown => valueAt(config, ['telemetry', name]);
  const is = (name: 'enabled' | 'emit_logs'): boolean => {
    const parsed = Telemetry.shape[name].safeParse(at(name));
    return isUnknown(at(name)) || (parsed.success && parsed.data);
  };
  if (!is('enabled')) return [];
  const transport = isUnknown(at('transport')) ? undefined : (at('transport') ?? 'grpc');
  // Exporters of OTLP over gRPC take a URL without a port in different ways.
  const usual = transport === 'http' ? [] : [4317];
  const endpoints = [
    ['endpoint'],
    ...(transport === 'grpc' || !is('emit_logs') ? [] : [['logs_endpoint']]),
    ...(tracesOn(config) ? [['traces', 'endpoint']] : []),
  ];
  return endpoints.flatMap((path) => {
    const url = valueAt(config, ['telemetry', ...path]);
    return typeof url === 'string'
      ? [{ field: ['telemetry', ...path].join('.'), target: targetOfUrl(url, usual) }]
      : [];
  });
}

function tracesOn(config: unknown): boolean {
  const enabled = valueAt(config, ['telemetry', 'traces', 'enabled']);
  const parsed = Telemetry.shape.traces.safeParse({ enabled });
  return isUnknown(enabled) || (parsed.success && parsed.data.enabled);
}
