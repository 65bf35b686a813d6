import { FILE_BYTES } from './traffic.ts';
import { DROPPED, LONG_CHARS, PICTURE } from './watched.ts';

/** What a counter, or the count of a histogram, comes to over all series that have these attributes. */
export interface Count {
  readonly metric: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Undefined: at least 1. What the clock does cannot be said more exactly. */
  readonly value?: number;
}

const toolCalls = (tool_name: string, result: string, value: number, server_id = 'up'): Count[] =>
  ['adapter_upstream_tool_calls_total', 'adapter_upstream_tool_call_duration_seconds'].map((metric) => ({
    metric,
    attributes: { server_id, tool_name, result },
    value,
  }));

const requests = (method: string, route: string, status: number, value: number): Count[] =>
  ['adapter_http_requests_total', 'adapter_http_request_duration_seconds'].map((metric) => ({
    metric,
    attributes: {
      'http.request.method': method,
      'adapter.route_group': route,
      'http.response.status_code': status,
      'http.response.status_class': `${Math.floor(status / 100)}xx`,
    },
    value,
  }));

const downloads = (result: string, auth_mode: string): Count[] =>
  ['adapter_artifact_downloads_total', 'adapter_artifact_download_duration_seconds'].map((metric) => ({
    metric,
    attributes: { server_id: 'up', result, auth_mode },
    value: 1,
  }));

const count = (metric: string, attributes: Count['attributes'], value?: number): Count => ({
  metric: `adapter_${metric}`,
  attributes,
  ...(value !== undefined && { value }),
});
const up = { server_id: 'up' };
const redis = { ...up, backend: 'redis' };
const artifacts = '/artifacts/{server_id}/{session_id}/{artifact_id}/{filename}';
const uploads = '/upload/{server_id}';

/** What `traffic` comes to, and not a bit more. */
export const COUNTS: readonly Count[] = [
  ...toolCalls('echo', 'success', 3),
  // It found no place.
  ...toolCalls('echo', 'error', 1),
  ...toolCalls('fails', 'error', 1),
  ...toolCalls('odd', 'success', 1),
  ...toolCalls('_other', 'error', 1),
  ...toolCalls('slow', 'success', 1),
  ...toolCalls('slow', 'timeout', 1, 'hurried'),
  ...toolCalls('slow', 'error', 1, 'hurried'),
  ...toolCalls('embed', 'success', 1),
  ...toolCalls('embed', 'error', 1),
  ...toolCalls('up_get_upload_url', 'success', 1),
  ...toolCalls('code_search', 'success', 1, 'code'),
  ...toolCalls('code_execute', 'success', 1, 'code'),
  ...toolCalls('echo', 'success', 1, 'code'),
  ...requests('POST', uploads, 200, 2),
  ...requests('POST', uploads, 400, 1),
  ...requests('POST', uploads, 401, 2),
  ...requests('POST', uploads, 404, 1),
  ...requests('GET', artifacts, 200, 2),
  ...requests('GET', artifacts, 404, 1),
  ...requests('POST', '/mcp/up', 401, 1),
  ...requests('POST', '/mcp/up', 429, 1),
  ...requests('POST', '/mcp/hurried', 429, 1),
  ...requests('GET', 'unmatched', 404, 1),
  ...requests('DELETE', '/mcp/up', 200, 1),
  count('upload_batches_total', up, 2),
  count('upload_files_total', up, 3),
  count('upload_bytes_total', up, 3 * FILE_BYTES),
  count('upload_failures_total', { ...up, reason: 'no_file_parts' }, 1),
  count('upload_failures_total', { server_id: 'unknown', reason: 'unknown_server' }, 1),
  count('auth_rejections_total', { reason: 'invalid_adapter_auth_token', 'adapter.route_group': '/mcp/up' }, 1),
  count(
    'auth_rejections_total',
    { ...up, reason: 'missing_or_invalid_signed_upload_credential', 'adapter.route_group': uploads },
    2,
  ),
  count(
    'request_rejections_total',
    { ...up, reason: 'in_flight_limit_exceeded', 'adapter.route_group': '/mcp/up', 'http.response.status_code': 429 },
    1,
  ),
  count('request_rejections_total', { server_id: 'hurried', reason: 'call_limit_exceeded' }, 1),
  count('bridged_requests_total', { server_id: 'newer', direction: 'older_client', rounds: '0' }, 1),
  count('calls_limited_total', { server_id: 'hurried', per: 'tool', limit: 'rate' }, 1),
  count('request_rejections_total', { server_id: 'down', reason: 'upstream_blocked_by_breaker' }),
  // The link of the upload page is a URL of its own.
  count('nonce_operations_total', { ...redis, operation: 'reserve', result: 'success' }, 2),
  count('nonce_operations_total', { ...redis, operation: 'consume', result: 'success' }, 1),
  count('upload_credentials_total', { ...redis, operation: 'issue', result: 'issued' }, 2),
  count('upload_credentials_total', { ...redis, operation: 'validate', result: 'bad_signature' }, 1),
  count('upload_credentials_total', { ...redis, operation: 'validate', result: 'accepted' }, 1),
  count('upload_credentials_total', { ...redis, operation: 'validate', result: 'replay_or_invalid' }, 1),
  ...downloads('success', 'signed_url'),
  ...downloads('success', 'session_context'),
  count('artifact_download_bytes_total', { ...up, auth_mode: 'signed_url' }, PICTURE.length),
  count('artifacts_total', up, 1),
  count('artifact_bytes_total', up, PICTURE.length),
  count('artifacts_total', { server_id: 'code' }, 1),
  count('artifact_bytes_total', { server_id: 'code' }, LONG_CHARS),
  count('results_spilled_total', { server_id: 'code', result: 'spilled' }, 1),
  count('artifact_failures_total', { ...up, reason: 'artifact_limit' }, 1),
  count('files_removed_total', { kind: 'uploads', reason: 'expired' }, 3),
  ...Object.keys(DROPPED).map((reason) => count('upstream_messages_dropped_total', { ...up, reason }, 1)),
  count('upstream_ping_total', { ...up, result: 'success', state_before_probe: 'closed' }),
  count('upstream_ping_latency_seconds', { server_id: 'down', result: 'failure', state_before_probe: 'closed' }, 2),
  count('adapter_wiring_runs_total', { result: 'ready' }),
  count('cleanup_cycles_total', { server_id: 'global', status: 'ok' }),
  count('cleanup_removed_records_total', { server_id: 'global', bucket: 'removed_uploads' }, 3),
  count('sessions_lifecycle_total', { ...up, event: 'created' }, 2),
  count('sessions_lifecycle_total', { server_id: 'code', event: 'created' }, 1),
  count('tool_definition_drift_total', { ...up, mode: 'warn', outcome: 'warn' }, 1),
];
