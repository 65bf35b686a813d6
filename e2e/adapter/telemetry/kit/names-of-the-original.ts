/** A metric as dashboards and alerts of the original know it: what must not change, whatever the catalog says. */
export interface OriginalMetric {
  readonly kind: 'sum' | 'histogram' | 'gauge';
  readonly unit: string;
  readonly attributes: readonly string[];
}

const status = ['http.response.status_code', 'http.response.status_class'];
const http = ['server_id', 'http.request.method', 'adapter.route_group', ...status];
const rejection = ['server_id', 'adapter.route_group', 'reason', ...status];
const toolCall = ['server_id', 'tool_name', 'result'];
const ping = ['server_id', 'result', 'state_before_probe'];
const policy = ['server_id', 'action', 'source', 'policy', 'configured_backend'];
const operation = ['server_id', 'operation', 'result', 'backend'];
const download = ['server_id', 'result', 'auth_mode'];

const counter = (attributes: readonly string[], unit = '1'): OriginalMetric => ({ kind: 'sum', unit, attributes });
const duration = (attributes: readonly string[]): OriginalMetric => ({ kind: 'histogram', unit: 's', attributes });
const gauge = (attributes: readonly string[]): OriginalMetric => ({ kind: 'gauge', unit: '1', attributes });

/** The 25 names, with their units and attributes. */
export const NAMES_OF_THE_ORIGINAL: Readonly<Record<string, OriginalMetric>> = {
  adapter_http_requests_total: counter(http),
  adapter_http_request_duration_seconds: duration(http),
  adapter_upload_batches_total: counter(['server_id']),
  adapter_upload_files_total: counter(['server_id']),
  adapter_upload_bytes_total: counter(['server_id'], 'By'),
  adapter_upload_failures_total: counter(['server_id', 'reason']),
  adapter_auth_rejections_total: counter(['server_id', 'reason', 'adapter.route_group']),
  adapter_request_rejections_total: counter(rejection),
  adapter_upstream_tool_calls_total: counter(toolCall),
  adapter_upstream_tool_call_duration_seconds: duration(toolCall),
  adapter_upstream_ping_total: counter(ping),
  adapter_upstream_ping_latency_seconds: duration(ping),
  adapter_upstream_circuit_breaker_state: gauge(['server_id']),
  adapter_persistence_policy_transitions_total: counter(policy),
  adapter_nonce_operations_total: counter(operation),
  adapter_upload_credentials_total: counter(operation),
  adapter_artifact_downloads_total: counter(download),
  adapter_artifact_download_bytes_total: counter(download, 'By'),
  adapter_artifact_download_duration_seconds: duration(download),
  adapter_adapter_wiring_runs_total: counter(['server_id', 'result']),
  adapter_adapter_wiring_not_ready_servers: gauge(['server_id']),
  adapter_cleanup_cycles_total: counter(['server_id', 'status']),
  adapter_cleanup_removed_records_total: counter(['server_id', 'bucket']),
  adapter_sessions_lifecycle_total: counter(['event', 'server_id']),
  adapter_tool_definition_drift_total: counter(['server_id', 'mode', 'block_strategy', 'outcome']),
};
