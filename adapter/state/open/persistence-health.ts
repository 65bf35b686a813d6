import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { StatePersistence } from '../../../crds/config/adapter-file/state-persistence.ts';
import type { Availability } from '../availability/store-health.ts';
import type { SnapshotStatus } from '../sqlite/snapshot.ts';

/*
 * The `persistence` member of the health object (specification, section 4), with the further members that dashboards
 * of the original know. Times on the wire are seconds since the epoch.
 */

/** For types `disk` and `redis`. */
export function persistenceHealth(
  config: StatePersistence,
  path: string,
  availability: Availability,
): Record<string, unknown> {
  const { status, configuredType, effectiveType, fallbackActive, unavailable, degradedReason } = availability;
  const ping = {
    interval_seconds: availability.ping.intervalMs / 1000,
    last_latency_ms: availability.ping.lastLatencyMs,
    last_error: availability.ping.lastError,
    last_success_at: seconds(availability.ping.lastSuccessAt),
    last_failure_at: seconds(availability.ping.lastFailureAt),
  };
  return {
    type: effectiveType,
    status,
    configured_type: configuredType,
    effective_type: effectiveType,
    fallback_active: fallbackActive,
    backend_details: fallbackActive ? { mode: 'ephemeral_memory_fallback' } : backendDetails(config, path),
    ...(configuredType === 'disk' ? { backend_status: fileStatus(path) } : {}),
    ping,
    ...(configuredType === 'redis' ? { redis: { ping } } : {}),
    ...(status === 'degraded' ? { detail: `${configuredType}_unhealthy` } : {}),
    policy: {
      configured_backend: configuredType,
      active_backend: effectiveType,
      unavailable_policy: availability.policy,
      status,
      unavailable,
      fallback_active: fallbackActive,
      exit_requested: availability.exitRequested,
      degraded_reason: degradedReason,
      last_error: availability.lastError,
      last_transition_at: seconds(availability.lastTransitionAt),
    },
  };
}

/** Of a store that replicas share. */
export const clockHealth = ({ aheadMs, differs }: { aheadMs: number; differs: boolean }): Record<string, unknown> => ({
  status: differs ? 'differs' : 'ok',
  ahead_seconds: aheadMs / 1000,
});

/** For type `memory`, which does not fail; `snapshot` is undefined when none are taken. */
export function memoryHealth(
  config: StatePersistence,
  path: string,
  snapshot: SnapshotStatus | undefined,
): Record<string, unknown> {
  const common = {
    type: 'memory',
    status: 'ok',
    configured_type: 'memory',
    effective_type: 'memory',
    fallback_active: false,
  };
  if (snapshot === undefined) return { ...common, backend_details: { mode: 'memory' } };
  return {
    ...common,
    backend_details: {
      mode: 'snapshot_backed_memory',
      snapshot_db_path: path,
      snapshot_interval_seconds: config.snapshot_interval_seconds,
      snapshot_wal_enabled: config.disk.wal.enabled,
      refresh_on_startup: config.refresh_on_startup,
    },
    memory_snapshot: {
      status: snapshot.lastError === null ? 'ok' : 'error',
      interval_seconds: snapshot.intervalMs / 1000,
      last_success_at: seconds(snapshot.lastSuccessAt),
      last_failure_at: seconds(snapshot.lastFailureAt),
      last_error: snapshot.lastError,
      last_sessions_count: snapshot.lastSessionsCount,
      last_tombstones_count: snapshot.lastTombstonesCount,
    },
  };
}

function backendDetails(config: StatePersistence, path: string): Record<string, unknown> {
  const { refresh_on_startup, disk, redis } = config;
  if (config.type === 'disk') {
    return { mode: 'sqlite', db_path: path, wal_enabled: disk.wal.enabled, refresh_on_startup };
  }
  const { host, port, db, key_base, tls, tls_insecure, ping_seconds } = redis;
  return { mode: 'redis', host, port, db, key_base, tls, tls_insecure, ping_seconds, refresh_on_startup };
}

function fileStatus(path: string): Record<string, unknown> {
  const stats = statSync(path, { throwIfNoEntry: false });
  const parent = statSync(dirname(path), { throwIfNoEntry: false });
  const isFile = stats?.isFile() ?? false;
  return {
    status: isFile ? 'ok' : 'error',
    path,
    exists: stats !== undefined,
    is_file: isFile,
    size_bytes: stats?.size ?? null,
    parent_exists: parent?.isDirectory() ?? false,
    ...(isFile ? {} : { detail: 'state_db_missing_or_invalid' }),
  };
}

const seconds = (milliseconds: number | null): number | null => (milliseconds === null ? null : milliseconds / 1000);
