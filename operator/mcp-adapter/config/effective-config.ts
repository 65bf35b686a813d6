/** What of a resource's configuration the operator can know: values hold `${NAME}`, whose values only the pods see. */
import { posix } from 'node:path';
import type { z } from 'zod';
import { Core, ToolDefaults } from '../../../crds/config/adapter-file/core.ts';
import { withoutOuterSlashes } from '../../../lib/slashes.ts';
import { StatePersistence } from '../../../crds/config/adapter-file/state-persistence.ts';
import { Storage } from '../../../crds/config/adapter-file/storage.ts';
import { Telemetry } from '../../../crds/config/adapter-file/telemetry.ts';
import { type Path, valueAt } from '../../../lib/json/tree.ts';
import { nullOfText } from '../../../crds/config/values/values.ts';
import type { McpAdapterSpec } from '../../../crds/v1alpha1/mcp-adapter.ts';
import type { Connection } from '../../validation/connections.ts';
import { isUnknown, resolver, withoutUnknown } from '../../validation/known-values.ts';
import { listAt } from '../../kubernetes/unstructured.ts';
import { connectionsOf, oauthSections } from './connections.ts';
import { SHUTDOWN_VARIABLE } from './defaults.ts';
import { isLoopback } from './loopback.ts';

/** Seconds that a call without a time limit, or with one that is not known, may go on when its pod stops. */
const UNLIMITED_CALL = 600;
/** A pod that may take longer than a day to stop is a mistake in the configuration. */
const LONGEST_SHUTDOWN = 86_400;

export interface EffectiveConfig {
  /** The address to listen on; undefined when it depends on a variable. */
  readonly host: string | undefined;
  readonly port: number;
  /** Whether the port depends on a variable; `port` is the default then. */
  readonly portUnknown: boolean;
  /** Where Prometheus reads metrics; undefined when they are not served, or in the pod only. */
  readonly metrics: { readonly port: number; readonly path: string } | undefined;
  /** Absolute path; the default when it depends on a variable. */
  readonly storageRoot: string;
  /** Whether each server has folders of its own there; false when it depends on a variable. */
  readonly perServer: boolean;
  /** Folders below the storage root that tools may leave files in, beside those that the adapter gives them; relative. */
  readonly outputFolders: readonly string[];
  /** Undefined when it depends on a variable. */
  readonly stateType: 'memory' | 'disk' | 'redis' | undefined;
  /** Absolute path of the SQLite file when one is written outside of the storage root. */
  readonly statePathOutside: string | undefined;
  /** Absolute path of the audit log when it is a file outside of the storage root. */
  readonly auditPathOutside: string | undefined;
  /** How long running calls may go on after SIGTERM, in whole seconds: as long as the longest tool call may take. */
  readonly shutdownSeconds: number;
  /** How long telemetry may take after everything else has ended, in whole seconds. */
  readonly telemetrySeconds: number;
  readonly authEnabled: boolean | undefined;
  /** Authorization servers, by the field that names them; without a URL where it depends on a variable. */
  readonly issuers: readonly { readonly field: string; readonly url: string | undefined }[];
  readonly servers: readonly {
    readonly id: string | undefined;
    /** With a leading slash; undefined when it depends on a variable. */
    readonly mountPath: string | undefined;
    readonly url: string | undefined;
  }[];
  /** Upstreams, then Redis, then S3, then telemetry. */
  readonly connections: readonly Connection[];
}

/**
 * The values that are certain: written out, or resolved from the values in `spec.env`; else defaults or undefined.
 * Never throws, whatever the configuration looks like.
 */
export function effectiveConfig(spec: McpAdapterSpec): EffectiveConfig {
  const resolve = resolver(spec);
  const resolved = resolve(spec.config);
  const certain = withoutUnknown(resolved);
  const at = (...path: Path): unknown => valueAt(certain, path);
  const unknownAt = (...path: Path): boolean => isUnknown(valueAt(resolved, path));

  const storageRoot = absolute(read(Storage.shape.root, at('storage', 'root')));
  const stateType = unknownAt('state_persistence', 'type')
    ? undefined
    : read(StatePersistence.shape.type, at('state_persistence', 'type'));
  return {
    host: unknownAt('core', 'host') ? undefined : read(Core.shape.host, at('core', 'host')),
    port: read(Core.shape.port, at('core', 'port')),
    portUnknown: unknownAt('core', 'port'),
    metrics: metricsOf(read(Telemetry.shape.prometheus, at('telemetry', 'prometheus'))),
    storageRoot,
    perServer: read(Storage.shape.layout, at('storage', 'layout')) === 'per_server',
    outputFolders: outputFolders(storageRoot, at('storage')),
    stateType,
    statePathOutside:
      stateType === 'redis' ? undefined : outside(storageRoot, at('state_persistence', 'disk', 'local_path')),
    auditPathOutside: auditPathOutside(storageRoot, at('telemetry', 'audit_log')),
    shutdownSeconds: shutdownSeconds(spec, resolve, resolved),
    telemetrySeconds: telemetrySeconds(resolved),
    authEnabled: unknownAt('core', 'auth', 'enabled')
      ? undefined
      : read(Core.shape.auth, { enabled: at('core', 'auth', 'enabled') }).enabled,
    issuers: oauthSections(resolved).map(({ field, oauth }) => ({
      field: `${field}.issuer`,
      url: knownText(oauth, ['issuer'])?.trim(),
    })),
    servers: listAt(resolved, 'servers').map((server) => ({
      id: knownText(server, ['id'])?.trim(),
      mountPath: mountPath(knownText(server, ['mount_path'])),
      url: knownText(server, ['upstream', 'url'])?.trim(),
    })),
    connections: connectionsOf(resolved, stateType),
  };
}

/** The value as the program reads it; the default where the program would refuse it. */
function read<T extends z.ZodType>(schema: T, value: unknown): z.output<T> {
  const parsed = schema.safeParse(value);
  return parsed.success ? parsed.data : schema.parse(undefined);
}

function metricsOf({ enabled, host, port, path }: Telemetry['prometheus']): EffectiveConfig['metrics'] {
  return enabled && !(host !== null && isLoopback(host)) ? { port, path } : undefined;
}

const knownText = (document: unknown, path: Path): string | undefined => {
  const value = valueAt(document, path);
  return typeof value === 'string' && !isUnknown(value) ? value : undefined;
};

const mountPath = (path: string | undefined): string | undefined =>
  path === undefined ? undefined : `/${withoutOuterSlashes(path.trim())}`;

/** Pods run in `/`. */
const absolute = (path: string): string => posix.resolve('/', path);

function outside(root: string, path: unknown): string | undefined {
  if (typeof path !== 'string' || path.trim() === '') return undefined;
  const file = absolute(path.trim());
  return file.startsWith(root === '/' ? root : `${root}/`) ? undefined : file;
}

function outputFolders(root: string, storage: unknown): string[] {
  if (valueAt(storage, ['artifact_locator_policy']) !== 'allow_configured_roots') return [];
  return listAt(storage, 'artifact_locator_allowed_roots')
    .flatMap((path) => (typeof path === 'string' ? [posix.relative(root, absolute(path.trim()))] : []))
    .filter((path) => path !== '' && path !== '..' && !path.startsWith('../'));
}

function auditPathOutside(root: string, section: unknown): string | undefined {
  const { enabled, path } = read(Telemetry.shape.audit_log, section);
  return enabled ? outside(root, path) : undefined;
}

function shutdownSeconds(spec: McpAdapterSpec, resolve: (value: unknown) => unknown, config: unknown): number {
  const own = spec.env?.some(({ name }) => name === SHUTDOWN_VARIABLE)
    ? resolve(`\${${SHUTDOWN_VARIABLE}}`)
    : undefined;
  const ownSeconds = typeof own === 'string' && own.trim() !== '' ? Number(own) : Number.NaN;
  const grace = valueAt(config, ['core', 'shutdown_grace_seconds']);
  const seconds =
    Number.isFinite(ownSeconds) && ownSeconds >= 0
      ? ownSeconds
      : Math.max(isUnknown(grace) ? 0 : read(Core.shape.shutdown_grace_seconds, grace), longestCall(config));
  return Math.min(Math.ceil(seconds), LONGEST_SHUTDOWN);
}

/** A collector that does not answer is waited for. */
function telemetrySeconds(config: unknown): number {
  const at = (name: string): unknown => valueAt(config, ['telemetry', name]);
  if (!isUnknown(at('enabled')) && !read(Telemetry.shape.enabled, at('enabled'))) return 0;
  const seconds = read(Telemetry.shape.shutdown_drain_timeout_seconds, at('shutdown_drain_timeout_seconds'));
  return Math.min(Math.ceil(seconds), LONGEST_SHUTDOWN);
}

/** Of all servers and of all tools that override the limit of their server. */
function longestCall(config: unknown): number {
  const limit = (document: unknown, path: Path, inherited: number | undefined): number => {
    const value = nullOfText(valueAt(document, [...path, 'tool_call_timeout_seconds']));
    if (isUnknown(value)) return UNLIMITED_CALL;
    if (inherited !== undefined && (value === undefined || value === null)) return inherited;
    return read(ToolDefaults.shape.tool_call_timeout_seconds, value) ?? UNLIMITED_CALL;
  };
  const common = limit(config, ['core', 'defaults'], undefined);
  const all = listAt(config, 'servers').flatMap((server) => {
    const own = limit(server, ['tool_defaults'], common);
    return [own, ...listAt(server, 'adapters').map((entry) => limit(entry, ['overrides'], own))];
  });
  return Math.max(0, ...all);
}
