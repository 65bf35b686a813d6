import type { Rule, Violation } from '../../load/rules.ts';
import type { Path } from '../../../../lib/json/tree.ts';
import { at, isText, list } from './reading.ts';

const roomForOneBody: Rule = (config) => {
  const path = ['core', 'max_body_bytes_in_flight'];
  const [all, one] = [at(config, ...path), at(config, 'core', 'max_request_body_bytes')];
  return typeof all === 'number' && typeof one === 'number' && all < one
    ? [{ path, message: `must not be less than core.max_request_body_bytes (${one})` }]
    : [];
};

const httpExportNeedsUrl: Rule = (config) => {
  if (at(config, 'telemetry', 'transport') !== 'http') return [];
  return [['endpoint'], ['logs_endpoint'], ['traces', 'endpoint']].flatMap((names) => {
    const path = ['telemetry', ...names];
    const endpoint = at(config, ...path);
    return typeof endpoint === 'string' && endpoint !== '' && !/^https?:\/\//i.test(endpoint)
      ? [{ path, message: 'must start with http:// or https:// when telemetry.transport is http' }]
      : [];
  });
};

const tracesNeedTelemetry: Rule = (config) =>
  at(config, 'telemetry', 'traces', 'enabled') === true && at(config, 'telemetry', 'enabled') === false
    ? [{ path: ['telemetry', 'traces', 'enabled'], message: 'can be true only when telemetry.enabled is true' }]
    : [];

const separatePorts: Rule = (config) => {
  const path = ['telemetry', 'prometheus', 'port'];
  const port = at(config, ...path);
  return at(config, 'telemetry', 'prometheus', 'enabled') === true && port === at(config, 'core', 'port')
    ? [{ path, message: `is also core.port (${String(port)}); the metrics have a port of their own` }]
    : [];
};

const redisNeedsHost: Rule = (config) =>
  at(config, 'state_persistence', 'type') === 'redis' && at(config, 'state_persistence', 'redis', 'host') === null
    ? [{ path: ['state_persistence', 'redis', 'host'], message: 'is required when state_persistence.type is redis' }]
    : [];

const redisLockNeedsRedis: Rule = (config) => {
  const type = at(config, 'state_persistence', 'type');
  return at(config, 'storage', 'lock_mode') === 'redis' && (type === 'memory' || type === 'disk')
    ? [
        {
          path: ['storage', 'lock_mode'],
          message: `can be redis only when state_persistence.type is redis, not ${type}`,
        },
      ]
    : [];
};

const configuredRootsNeedRoots: Rule = (config) => {
  const roots = at(config, 'storage', 'artifact_locator_allowed_roots');
  return at(config, 'storage', 'artifact_locator_policy') === 'allow_configured_roots' &&
    Array.isArray(roots) &&
    roots.length === 0
    ? [
        {
          path: ['storage', 'artifact_locator_allowed_roots'],
          message: 'must name at least one folder when storage.artifact_locator_policy is allow_configured_roots',
        },
      ]
    : [];
};

const legacyServerExists: Rule = (config) => {
  const path = ['state_persistence', 'reconciliation', 'legacy_server_id'];
  const id = at(config, ...path);
  const ids = list(config, 'servers').map((server) => at(server, 'id'));
  // With an invalid id among them, this one may be meant.
  if (typeof id !== 'string' || ids.length === 0 || ids.includes(id) || ids.some((one) => !isText(one))) return [];
  return [{ path, message: `is not the id of a configured server (${ids.join(', ')})` }];
};

const uniqueIds: Rule = (config) => {
  const first = new Map<string, number>();
  return list(config, 'servers').flatMap((server, index) => {
    const id = at(server, 'id');
    if (!isText(id)) return [];
    const earlier = first.get(id);
    if (earlier === undefined) first.set(id, index);
    return earlier === undefined
      ? []
      : [{ path: ['servers', index, 'id'], message: `is also the id of servers[${earlier}]; ids must be unique` }];
  });
};

/** Paths that the adapter serves itself. */
const OWN_PATHS = ['/healthz', '/livez', '/readyz'];

/** A path of the file or of the adapter. To all but mounts belongs what lies below them, too. */
interface Place {
  readonly path: string;
  readonly by: string;
  readonly isMount: boolean;
}

/** Every path belongs to one part of the adapter. */
const separatePaths: Rule = (config) => {
  const downloads = at(config, 'core', 'allow_artifacts_download') === true ? ['/artifacts'] : [];
  const taken: Place[] = [...downloads, ...OWN_PATHS].map((path) => ({
    path,
    by: `${path}, which the adapter serves itself`,
    isMount: false,
  }));
  const claim = (at: Path, path: unknown, name: string, isMount: boolean): Violation[] => {
    if (!isText(path) || !path.startsWith('/')) return [];
    const place: Place = { path, by: `${name} (${path})`, isMount };
    const other = taken.find((one) => collide(one, place));
    taken.push(place);
    if (other === undefined) return [];
    const problem = other.path === path ? 'is the same as' : 'lies below or above';
    return [{ path: at, message: `${problem} ${other.by}; every path must belong to one part of the adapter` }];
  };
  return [
    ...claim(['core', 'upload_path'], at(config, 'core', 'upload_path'), 'core.upload_path', false),
    ...list(config, 'servers').flatMap((server, index) =>
      claim(['servers', index, 'mount_path'], at(server, 'mount_path'), `servers[${index}].mount_path`, true),
    ),
  ];
};

function collide(a: Place, b: Place): boolean {
  if (a.path === b.path) return true;
  return !(a.isMount && b.isMount) && (a.path.startsWith(`${b.path}/`) || b.path.startsWith(`${a.path}/`));
}

/** Ports, paths, state, storage and telemetry. */
export const PART_RULES: readonly Rule[] = [
  roomForOneBody,
  httpExportNeedsUrl,
  tracesNeedTelemetry,
  separatePorts,
  redisNeedsHost,
  redisLockNeedsRedis,
  configuredRootsNeedRoots,
  legacyServerExists,
  uniqueIds,
  separatePaths,
];
