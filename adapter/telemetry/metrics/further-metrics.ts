import type { MetricDefinition } from '../../../lib/metrics/metric-definition.ts';

/** What the original does not have. */
export const FURTHER_METRICS = {
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
