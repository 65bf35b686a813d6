import { emptyResource } from '@opentelemetry/resources';
import { expect, it } from 'vitest';
import { Aggregation } from './aggregation.ts';
import { EventMetrics } from './event-metrics.ts';
import { METRIC_CATALOG } from './metric-catalog.ts';
import { pointsOf } from '../testing/points.ts';

function setUp() {
  const scope = { name: 'test', version: '1' };
  const aggregation = new Aggregation({ resource: emptyResource(), scope, seriesPerMetric: 100 });
  return { metrics: new EventMetrics(aggregation, new Set(['files'])), points: () => pointsOf(aggregation) };
}
type Metrics = EventMetrics;

const EVENTS: readonly [string, (metrics: Metrics) => void, Readonly<Record<string, readonly [object, number]>>][] = [
  [
    'an upload',
    (metrics) => metrics.upload({ serverId: 'files', files: 2, bytes: 300 }),
    {
      adapter_upload_batches_total: [{ server_id: 'files' }, 1],
      adapter_upload_files_total: [{ server_id: 'files' }, 2],
      adapter_upload_bytes_total: [{ server_id: 'files' }, 300],
    },
  ],
  [
    'an upload to a server that does not exist',
    (metrics) => metrics.uploadFailed({ serverId: 'nonsense', reason: 'unknown_server' }),
    { adapter_upload_failures_total: [{ server_id: 'unknown', reason: 'unknown_server' }, 1] },
  ],
  [
    'a ping',
    (metrics) => metrics.ping({ serverId: 'files', ok: false, seconds: 1, stateBefore: 'half_open' }),
    {
      adapter_upstream_ping_total: [{ server_id: 'files', result: 'failure', state_before_probe: 'half_open' }, 1],
      adapter_upstream_ping_latency_seconds: [
        { server_id: 'files', result: 'failure', state_before_probe: 'half_open' },
        1,
      ],
    },
  ],
  [
    'a store that is replaced',
    (metrics) =>
      metrics.policyTransition({
        action: 'switch_to_fallback',
        source: 'runtime:store',
        policy: 'fallback_memory',
        backend: 'redis',
      }),
    {
      adapter_persistence_policy_transitions_total: [
        {
          server_id: 'global',
          action: 'switch_to_fallback',
          source: 'runtime:store',
          policy: 'fallback_memory',
          configured_backend: 'redis',
        },
        1,
      ],
    },
  ],
  [
    'a nonce',
    (metrics) => metrics.nonce({ serverId: 'files', operation: 'consume', result: 'invalid', backend: 'sqlite' }),
    {
      adapter_nonce_operations_total: [
        { server_id: 'files', operation: 'consume', result: 'invalid', backend: 'sqlite' },
        1,
      ],
    },
  ],
  [
    'a credential',
    (metrics) =>
      metrics.credential({ serverId: undefined, operation: 'validate', result: 'expired', backend: 'memory' }),
    {
      adapter_upload_credentials_total: [
        { server_id: 'unknown', operation: 'validate', result: 'expired', backend: 'memory' },
        1,
      ],
    },
  ],
  [
    'a download',
    (metrics) =>
      metrics.download({ serverId: 'files', result: 'success', authMode: 'signed_url', bytes: 7, seconds: 1 }),
    {
      adapter_artifact_downloads_total: [{ server_id: 'files', result: 'success', auth_mode: 'signed_url' }, 1],
      adapter_artifact_download_bytes_total: [{ server_id: 'files', result: 'success', auth_mode: 'signed_url' }, 7],
      adapter_artifact_download_duration_seconds: [
        { server_id: 'files', result: 'success', auth_mode: 'signed_url' },
        1,
      ],
    },
  ],
  [
    'a download of nothing',
    (metrics) =>
      metrics.download({ serverId: 'files', result: 'not_found', authMode: 'session_context', bytes: 0, seconds: 1 }),
    {
      adapter_artifact_downloads_total: [{ server_id: 'files', result: 'not_found', auth_mode: 'session_context' }, 1],
      adapter_artifact_download_duration_seconds: [
        { server_id: 'files', result: 'not_found', auth_mode: 'session_context' },
        1,
      ],
    },
  ],
  [
    'a server that does not answer yet',
    (metrics) => metrics.wiring({ serverId: 'files', result: 'retry' }),
    { adapter_adapter_wiring_runs_total: [{ server_id: 'global', result: 'retry' }, 1] },
  ],
  [
    'an artifact',
    (metrics) => metrics.artifact({ serverId: 'files', bytes: 7 }),
    {
      adapter_artifacts_total: [{ server_id: 'files' }, 1],
      adapter_artifact_bytes_total: [{ server_id: 'files' }, 7],
    },
  ],
  [
    'a file that did not become an artifact',
    (metrics) => metrics.artifactFailed({ serverId: 'files', reason: 'storage_quota' }),
    { adapter_artifact_failures_total: [{ server_id: 'files', reason: 'storage_quota' }, 1] },
  ],
  [
    'an entry that does not fit its server',
    (metrics) => metrics.fileRule({ serverId: 'files', reason: 'no_tool' }),
    { adapter_file_rule_problems_total: [{ server_id: 'files', reason: 'no_tool' }, 1] },
  ],
  [
    'files that were removed',
    (metrics) => metrics.filesRemoved({ kind: 'upload', reason: 'evicted', files: 3 }),
    { adapter_files_removed_total: [{ kind: 'uploads', reason: 'evicted' }, 3] },
  ],
  [
    'a cleanup',
    (metrics) => metrics.cleanup({ status: 'ok', removed: { sessions: 3, uploads: 0 } }),
    {
      adapter_cleanup_cycles_total: [{ server_id: 'global', status: 'ok' }, 1],
      adapter_cleanup_removed_records_total: [{ server_id: 'global', bucket: 'sessions' }, 3],
    },
  ],
  [
    'a session that begins',
    (metrics) => metrics.session({ serverId: 'files', event: 'created' }),
    { adapter_sessions_lifecycle_total: [{ server_id: 'files', event: 'created' }, 1] },
  ],
  [
    'a session that ends',
    (metrics) =>
      metrics.session({ serverId: 'files', event: 'idle_expired_deleted', seconds: 9, protocolVersion: 'made up' }),
    {
      adapter_sessions_lifecycle_total: [{ server_id: 'files', event: 'idle_expired_deleted' }, 1],
      'mcp.server.session.duration': [
        { 'mcp.protocol.version': '_OTHER', 'network.transport': 'tcp', 'mcp_adapter.server.id': 'files' },
        1,
      ],
    },
  ],
  [
    'a drift',
    (metrics) => metrics.drift({ serverId: 'files', mode: 'block', blockStrategy: 'error', outcome: 'block_error' }),
    {
      adapter_tool_definition_drift_total: [
        { server_id: 'files', mode: 'block', block_strategy: 'error', outcome: 'block_error' },
        1,
      ],
    },
  ],
  [
    'messages that no client gets',
    (metrics) => metrics.dropped({ serverId: 'files', reason: 'member', messages: 3 }),
    { adapter_upstream_messages_dropped_total: [{ server_id: 'files', reason: 'member' }, 3] },
  ],
  [
    'a request over the bridge',
    (metrics) => metrics.bridged({ serverId: 'files', direction: 'older_client', rounds: 2 }),
    { adapter_bridged_requests_total: [{ server_id: 'files', direction: 'older_client', rounds: '2' }, 1] },
  ],
  [
    'a call that a limit refuses',
    (metrics) => metrics.limited({ serverId: 'files', per: 'caller+tool', limit: 'rate' }),
    { adapter_calls_limited_total: [{ server_id: 'files', per: 'caller+tool', limit: 'rate' }, 1] },
  ],
  [
    'what is read',
    (metrics) =>
      metrics.observe({
        breakerStates: () => [['files', 'half_open']],
        notReadyServers: () => 2,
        activeSessions: () => 5,
        requestsInFlight: () => 4,
        heldBytes: () => [['unread', 7]],
        heldBytesLimit: () => 8,
        storedBytes: () => [['uploads', 6]],
      }),
    {
      adapter_upstream_circuit_breaker_state: [{ server_id: 'files' }, 1],
      adapter_adapter_wiring_not_ready_servers: [{ server_id: 'global' }, 2],
      adapter_sessions_active: [{}, 5],
      adapter_requests_in_flight: [{}, 4],
      adapter_held_bytes: [{ kind: 'unread' }, 7],
      adapter_held_bytes_limit: [{}, 8],
      adapter_stored_bytes: [{ kind: 'uploads' }, 6],
    },
  ],
];

it.each(EVENTS)('counts %s', (_what, tell, expected) => {
  const { metrics, points } = setUp();
  tell(metrics);
  const found = Object.fromEntries(points().map(({ name, attributes, value }) => [name, [attributes, value]]));
  expect(found).toEqual(expected);
  for (const { name, attributes } of points()) {
    const declared = METRIC_CATALOG.find((one) => one.name === name)?.attributes;
    expect(declared).toEqual(expect.arrayContaining(Object.keys(attributes)));
  }
});

it('says nothing of sessions that it does not know', () => {
  const { metrics, points } = setUp();
  metrics.observe({
    breakerStates: () => [],
    notReadyServers: () => 0,
    activeSessions: () => undefined,
    requestsInFlight: () => 0,
    heldBytes: () => [],
    heldBytesLimit: () => 8,
    storedBytes: () => [],
  });
  expect(points().map(({ name }) => name)).toEqual([
    'adapter_adapter_wiring_not_ready_servers',
    'adapter_requests_in_flight',
    'adapter_held_bytes_limit',
  ]);
});
