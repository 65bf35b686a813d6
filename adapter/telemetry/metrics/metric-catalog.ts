import type { MetricDefinition } from '../../../lib/metrics/metric-definition.ts';
import { NODE_METRICS } from '../../../lib/metrics/node-metrics.ts';

/** Answers from memory take milliseconds, tools that think take minutes. */
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];
/** As OpenTelemetry's conventions for MCP ask for it. */
const MCP_SECONDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

const HTTP = [
  'server_id',
  'http.request.method',
  'adapter.route_group',
  'http.response.status_code',
  'http.response.status_class',
] as const;
const TOOL_CALL = ['server_id', 'tool_name', 'result'] as const;
const PING = ['server_id', 'result', 'state_before_probe'] as const;
const DOWNLOAD = ['server_id', 'result', 'auth_mode'] as const;
const OPERATION = [
  'mcp.method.name',
  'gen_ai.operation.name',
  'gen_ai.tool.name',
  'error.type',
  'rpc.response.status_code',
  'mcp.protocol.version',
  'network.transport',
  'mcp_adapter.server.id',
] as const;

/**
 * The adapter's metrics that dashboards know, with the names, units and attributes that these were made for (specification,
 * section 2.2, and the facts about the original), then those of OpenTelemetry's conventions, then further ones.
 */
export const ADAPTER_METRICS = {
  httpRequests: {
    name: 'adapter_http_requests_total',
    instrument: 'counter',
    unit: '1',
    description: 'HTTP requests by server, method, route and status.',
    attributes: HTTP,
  },
  httpDuration: {
    name: 'adapter_http_request_duration_seconds',
    instrument: 'histogram',
    unit: 's',
    description: 'From the arrival of an HTTP request until its answer has left; streams opened with GET have none.',
    attributes: HTTP,
    bounds: SECONDS,
  },
  uploadBatches: {
    name: 'adapter_upload_batches_total',
    instrument: 'counter',
    unit: '1',
    description: 'Uploads that were accepted, each of one or more files.',
    attributes: ['server_id'],
  },
  uploadFiles: {
    name: 'adapter_upload_files_total',
    instrument: 'counter',
    unit: '1',
    description: 'Files of uploads that were accepted.',
    attributes: ['server_id'],
  },
  uploadBytes: {
    name: 'adapter_upload_bytes_total',
    instrument: 'counter',
    unit: 'By',
    description: 'Bytes of the files of uploads that were accepted.',
    attributes: ['server_id'],
  },
  uploadFailures: {
    name: 'adapter_upload_failures_total',
    instrument: 'counter',
    unit: '1',
    description: 'Uploads, and uses of uploads by tools, that failed, by reason.',
    attributes: ['server_id', 'reason'],
  },
  authRejections: {
    name: 'adapter_auth_rejections_total',
    instrument: 'counter',
    unit: '1',
    description: 'Requests that were refused because of their token or signed URL.',
    attributes: ['server_id', 'reason', 'adapter.route_group'],
  },
  requestRejections: {
    name: 'adapter_request_rejections_total',
    instrument: 'counter',
    unit: '1',
    description: 'Requests that were refused because of the state of the adapter, an upstream or a session.',
    attributes: [
      'server_id',
      'adapter.route_group',
      'reason',
      'http.response.status_code',
      'http.response.status_class',
    ],
  },
  toolCalls: {
    name: 'adapter_upstream_tool_calls_total',
    instrument: 'counter',
    unit: '1',
    description: 'Tool calls by result: success, error, timeout.',
    attributes: TOOL_CALL,
  },
  toolCallDuration: {
    name: 'adapter_upstream_tool_call_duration_seconds',
    instrument: 'histogram',
    unit: 's',
    description: 'How long tool calls took, until their answer had left.',
    attributes: TOOL_CALL,
    bounds: SECONDS,
  },
  pings: {
    name: 'adapter_upstream_ping_total',
    instrument: 'counter',
    unit: '1',
    description: 'Pings of upstreams by result, and by the state of the circuit breaker before.',
    attributes: PING,
  },
  pingLatency: {
    name: 'adapter_upstream_ping_latency_seconds',
    instrument: 'histogram',
    unit: 's',
    description: 'How long pings of upstreams took.',
    attributes: PING,
    bounds: SECONDS,
  },
  breakerState: {
    name: 'adapter_upstream_circuit_breaker_state',
    instrument: 'gauge',
    unit: '1',
    description: 'Circuit breaker of an upstream: 0 closed, 1 half open, 2 open.',
    attributes: ['server_id'],
  },
  policyTransitions: {
    name: 'adapter_persistence_policy_transitions_total',
    instrument: 'counter',
    unit: '1',
    description: 'What state_persistence.unavailable_policy has led to.',
    attributes: ['server_id', 'action', 'source', 'policy', 'configured_backend'],
  },
  nonceOperations: {
    name: 'adapter_nonce_operations_total',
    instrument: 'counter',
    unit: '1',
    description: 'Nonces of signed upload URLs that were reserved or used up.',
    attributes: ['server_id', 'operation', 'result', 'backend'],
  },
  uploadCredentials: {
    name: 'adapter_upload_credentials_total',
    instrument: 'counter',
    unit: '1',
    description: 'Signed upload URLs that were issued or checked.',
    attributes: ['server_id', 'operation', 'result', 'backend'],
  },
  downloads: {
    name: 'adapter_artifact_downloads_total',
    instrument: 'counter',
    unit: '1',
    description: 'Downloads of artifacts by result.',
    attributes: DOWNLOAD,
  },
  downloadBytes: {
    name: 'adapter_artifact_download_bytes_total',
    instrument: 'counter',
    unit: 'By',
    description: 'Bytes of artifacts that were sent.',
    attributes: DOWNLOAD,
  },
  downloadDuration: {
    name: 'adapter_artifact_download_duration_seconds',
    instrument: 'histogram',
    unit: 's',
    description: 'How long downloads of artifacts took.',
    attributes: DOWNLOAD,
    bounds: SECONDS,
  },
  wiringRuns: {
    name: 'adapter_adapter_wiring_runs_total',
    instrument: 'counter',
    unit: '1',
    description: 'Attempts to reach a server before clients use it: ready, retry.',
    attributes: ['server_id', 'result'],
  },
  notReadyServers: {
    name: 'adapter_adapter_wiring_not_ready_servers',
    instrument: 'gauge',
    unit: '1',
    description: 'Servers whose upstream does not answer.',
    attributes: ['server_id'],
  },
  cleanupCycles: {
    name: 'adapter_cleanup_cycles_total',
    instrument: 'counter',
    unit: '1',
    description: 'Passes of the cleanup: ok, error.',
    attributes: ['server_id', 'status'],
  },
  cleanupRemoved: {
    name: 'adapter_cleanup_removed_records_total',
    instrument: 'counter',
    unit: '1',
    description: 'What the cleanup has removed.',
    attributes: ['server_id', 'bucket'],
  },
  sessionEvents: {
    name: 'adapter_sessions_lifecycle_total',
    instrument: 'counter',
    unit: '1',
    description: 'What has become of sessions.',
    attributes: ['event', 'server_id'],
  },
  drifts: {
    name: 'adapter_tool_definition_drift_total',
    instrument: 'counter',
    unit: '1',
    description: 'Tools that had changed since their session saw them first, by what followed.',
    attributes: ['server_id', 'mode', 'block_strategy', 'outcome'],
  },
  droppedMessages: {
    name: 'adapter_upstream_messages_dropped_total',
    instrument: 'counter',
    unit: '1',
    description:
      'Messages of upstreams that reached no client: no JSON object (`malformed`), a member twice or in another spelling (`member`), neither request, notification nor response (`kind`), a response that nobody waited for (`unasked`), an event of another name (`event`).',
    attributes: ['server_id', 'reason'],
  },
  limitedCalls: {
    name: 'adapter_calls_limited_total',
    instrument: 'counter',
    unit: '1',
    description:
      'Tool calls that a limit has refused (calls of a batch as one), by whose calls it counts (`per`), and by what it limits: `rate`, `concurrent`.',
    attributes: ['server_id', 'per', 'limit'],
  },
  serverOperation: {
    name: 'mcp.server.operation.duration',
    instrument: 'histogram',
    unit: 's',
    description: 'How long requests and notifications of clients took.',
    attributes: OPERATION,
    bounds: MCP_SECONDS,
  },
  clientOperation: {
    name: 'mcp.client.operation.duration',
    instrument: 'histogram',
    unit: 's',
    description: 'How long requests and notifications to upstreams took.',
    attributes: OPERATION,
    bounds: MCP_SECONDS,
  },
  serverSession: {
    name: 'mcp.server.session.duration',
    instrument: 'histogram',
    unit: 's',
    description: 'How long sessions lasted.',
    attributes: ['mcp.protocol.version', 'network.transport', 'mcp_adapter.server.id'],
    bounds: MCP_SECONDS,
  },
  dropped: {
    name: 'adapter_telemetry_dropped_total',
    instrument: 'counter',
    unit: '{item}',
    description: 'Events, log records, spans and audit lines that were lost, by reason.',
    attributes: ['signal', 'reason'],
  },
  exportFailures: {
    name: 'adapter_telemetry_export_failures_total',
    instrument: 'counter',
    unit: '{export}',
    description: 'Exports that the collector has not accepted.',
    attributes: ['signal'],
  },
  queueDepth: {
    name: 'adapter_telemetry_queue_depth',
    instrument: 'gauge',
    unit: '{event}',
    description: 'Events that wait in the queue of telemetry.',
    attributes: [],
  },
  activeSessions: {
    name: 'adapter_sessions_active',
    instrument: 'gauge',
    unit: '{session}',
    description: 'Sessions in the state store, which replicas may share.',
    attributes: [],
  },
  requestsInFlight: {
    name: 'adapter_requests_in_flight',
    instrument: 'gauge',
    unit: '{request}',
    description: 'Requests on mounts that this replica is answering, event streams left out.',
    attributes: [],
  },
  heldBytes: {
    name: 'adapter_held_bytes',
    instrument: 'gauge',
    unit: 'By',
    description:
      'Bytes that this replica holds for others: requests (a little for each that is under way), bodies, answers (read ' +
      'before they may leave), unread (what clients have not taken), logs (of event streams).',
    attributes: ['kind'],
  },
  heldBytesLimit: {
    name: 'adapter_held_bytes_limit',
    instrument: 'gauge',
    unit: 'By',
    description: 'How many bytes this replica may hold for others; beyond it, requests get 503.',
    attributes: [],
  },
  storedBytes: {
    name: 'adapter_stored_bytes',
    instrument: 'gauge',
    unit: 'By',
    description: 'Bytes of files that are kept, which replicas may share: uploads, artifacts.',
    attributes: ['kind'],
  },
  artifacts: {
    name: 'adapter_artifacts_total',
    instrument: 'counter',
    unit: '{file}',
    description: 'Files of tools that became artifacts.',
    attributes: ['server_id'],
  },
  artifactBytes: {
    name: 'adapter_artifact_bytes_total',
    instrument: 'counter',
    unit: 'By',
    description: 'Bytes of the files of tools that became artifacts.',
    attributes: ['server_id'],
  },
  artifactFailures: {
    name: 'adapter_artifact_failures_total',
    instrument: 'counter',
    unit: '{file}',
    description: 'Files of tools that did not become artifacts, by the code of the error.',
    attributes: ['server_id', 'reason'],
  },
  resultsSpilled: {
    name: 'adapter_results_spilled_total',
    instrument: 'counter',
    unit: '{artifact}',
    description:
      'Texts of results that were too long: spilled (it became an artifact), passed (it could not be kept, so the result ' +
      'passed as it was).',
    attributes: ['server_id', 'result'],
  },
  fileRules: {
    name: 'adapter_file_rule_problems_total',
    instrument: 'counter',
    unit: '{problem}',
    description:
      'Entries of adapters that do not fit their server: no_tool, no_argument (when a list of tools shows it first), not_taken (a ' +
      'file that a tool has named, each time).',
    attributes: ['server_id', 'reason'],
  },
  lockDrifts: {
    name: 'adapter_tool_lock_drift_total',
    instrument: 'counter',
    unit: '{difference}',
    description:
      'Times that what a server lists differed from the tool lock in another way than before; what differs stands in the log ' +
      'and in /healthz.',
    attributes: ['server_id'],
  },
  bridged: {
    name: 'adapter_bridged_requests_total',
    instrument: 'counter',
    unit: '{request}',
    description:
      'Requests of clients whose protocol revision the server does not speak: older_client (with sessions, at a server of ' +
      '2026-07-28 only), newer_client; by the rounds of questions that they took, 0 to 8.',
    attributes: ['server_id', 'direction', 'rounds'],
  },
  filesRemoved: {
    name: 'adapter_files_removed_total',
    instrument: 'counter',
    unit: '{file}',
    description:
      'Files that this replica has removed: expired, evicted to make room, session_ended, failed (never whole), ' +
      'orphan (bytes without a record), dangling (a record without bytes).',
    attributes: ['kind', 'reason'],
  },
} as const satisfies Readonly<Record<string, MetricDefinition>>;

/** Every metric of the adapter. */
export const METRIC_CATALOG: readonly MetricDefinition[] = [...Object.values(ADAPTER_METRICS), ...NODE_METRICS];
