import type { ErrorCode } from '../../adapter/errors.ts';

/** What an error code means, and what to do about it; Markdown. In the order of the page. */
export const ERROR_ADVICE: Readonly<Record<string, Readonly<Partial<Record<ErrorCode, string>>>>> = {
  'Who is calling': {
    unauthorized: 'The token header is missing or wrong. Its name is `core.auth.header_name`.',
    invalid_token:
      'The bearer token is not valid here: expired, not signed by the issuer, from another issuer, or for another audience (`core.auth.oauth.audiences`).',
    insufficient_scope:
      'The token lacks a scope of `core.auth.oauth.scopes`, or one that an access rule asks for. The challenge names it.',
    ambiguous_credentials: 'The request has two `Authorization` headers. Send one.',
    issuer_unavailable:
      'The adapter cannot read the keys of the issuer, or cannot ask it about the token. The log says why. Tokens signed with a known key still work.',
    forbidden:
      'A rule of `access` denies the caller this method, an upload or a download. See [access rules](../identity.md#access-rules); `--explain-access` tells which rule decides.',
    forbidden_origin: 'A web page called from an origin that is not in `core.cors.allowed_origins`.',
    forbidden_host:
      'The host name is not served: the adapter listens on loopback, or `core.allowed_hosts` lacks the name. Add the name, listen on an address, or set `core.public_base_url`.',
  },
  'The request': {
    not_found: 'No server is mounted at this path. Compare it with `mount_path`.',
    method_not_allowed: 'A mount takes POST, GET and DELETE; no GET where the upstream has no event stream.',
    body_too_large: 'The body is larger than `core.max_request_body_bytes`. Raise it if you trust your clients.',
    unsupported_media_type: 'Send `Content-Type: application/json`.',
    parse_error: 'The body is not JSON. The message says where.',
    invalid_request: 'The body is JSON, but not a JSON-RPC message. The message says why.',
    invalid_metadata:
      'A request of revision 2026-07-28 lacks `protocolVersion` or `clientCapabilities` in `params._meta`.',
    unsupported_revision: 'The request names a revision later than 2026-07-28; `data.supported` has what there is.',
    header_mismatch: '`Mcp-Method`, `Mcp-Name` or an `Mcp-Param-*` header contradicts the body.',
    missing_client_header: 'The server lists a header in `client_headers.required` that the client did not send.',
    request_timeout: 'An upload sent less than 64 KiB in a minute.',
    cancelled: 'The client cancelled the request.',
  },
  'Sessions and limits': {
    missing_session: 'The client sent no `Mcp-Session-Id`. It must begin with `initialize`.',
    session_not_found:
      'The session has expired, has ended, or belongs to another caller. Clients initialize again by themselves.',
    session_invalidated: 'The adapter has ended the session. Clients initialize again by themselves.',
    session_ended: 'The session ended while the request was running. Clients initialize again by themselves.',
    sessions_limit:
      '`sessions.max_active` is reached. Raise it, or shorten `sessions.idle_ttl_seconds` so that abandoned sessions go sooner.',
    in_flight_limit:
      'The session has `sessions.max_in_flight_per_session` tool calls running. Raise the limit, or let the client wait.',
    rate_limited:
      'More calls than a `rate` of `limits` allows, of this caller, server or tool. After `Retry-After` there is room again.',
    concurrency_limited:
      'As many calls are running as a `concurrent` of `limits` allows. Try again when one has ended.',
    unknown_method: 'The revision 2026-07-28 has no `tasks/result`. Ask `tasks/get`.',
    overloaded:
      'Too many requests, or too many bytes of requests (`core.max_body_bytes_in_flight`) or answers, are under way. `Retry-After` says when to try again.',
    stream_conflict: 'The session already has an event stream open.',
    unknown_task:
      'No call of this session has created the task, or nobody has asked for it for a day. Tasks of other sessions are invisible.',
  },
  Files: {
    uploads_disabled: '`uploads.enabled` is false.',
    upload_wanted: 'Not a failure: the client is asked to open the upload page.',
    request_state_invalid:
      'The `requestState` of a question for a file has expired, was changed, or belongs to another call or caller. Make the call anew.',
    invalid_multipart: 'The form is not valid `multipart/form-data`.',
    no_file: 'The form has no field `file`.',
    sha256_missing: '`uploads.require_sha256` is on: send a `sha256` field for every file.',
    sha256_count: 'Send as many `sha256` fields as files, in the same order.',
    sha256_mismatch: 'The bytes that arrived are not those that were hashed.',
    file_too_large: 'The file is larger than `uploads.max_file_bytes`.',
    session_quota:
      '`sessions.max_total_session_size` is reached and removing older files of the session does not help, or the session has 10,000 files.',
    storage_quota: '`storage.max_size` is reached, or the disk is full.',
    artifact_limit: 'The session has `artifacts.max_per_session` artifacts.',
    upload_url_invalid: 'The signed URL has expired, was used, or was changed. Ask the tool for a new one.',
    download_url_invalid: 'The signed URL has expired or was changed. Call the tool again for a new one.',
    unknown_server: 'No server has this `id`.',
    artifact_not_found: 'The artifact has expired, or belongs to another session.',
    range_not_satisfiable: 'The file is shorter than the requested range.',
    storage_busy: 'Another replica is working on the same file. See `storage.lock_mode`.',
    storage_unavailable: 'The disk or the S3 bucket cannot be used. The log says why.',
  },
  'Tools, prompts and resources': {
    unknown_tool:
      'The tool does not exist, or `disabled_tools`, `tool_metadata_sanitization`, pinning, an access rule or the tool lock hides it: [why a tool is missing](../operations/troubleshooting.md#a-tool-is-missing-from-the-list).',
    tool_definition_drift:
      'Tools have changed since the session first saw them (`tool_definition_pinning`); `data` names them. A new session accepts the new tools. Or the tool is not what was approved (`core.tool_lock`); `data` names the fields that differ.',
    unknown_prompt: 'The prompt is hidden because of its name or text, or because pinning with `block` hides it.',
    prompt_definition_drift:
      'The prompt has changed since the session first saw it (`tool_definition_pinning`). A new session accepts it. Or it is not what was approved (`core.tool_lock`).',
    unknown_resource: 'The `ui://` resource belongs to hidden tools.',
  },
  Upstreams: {
    legacy_upstream: 'The upstream only speaks revisions with sessions. Clients fall back to `initialize`.',
    upstream_unreachable: 'Nothing answers at `upstream.url`: the address is wrong, or the server is down.',
    upstream_failed:
      'The upstream broke off its answer, or what it sent is not MCP. The status is its own where that is 400, 401, 403, 405, 429 or 503.',
    upstream_timeout: 'The upstream took longer than `tool_defaults.tool_call_timeout_seconds`.',
    upstream_unavailable:
      'Pings failed, so the circuit breaker is open. `/healthz` says since when and why. See [McpAdapterUpstreamDown](../runbooks/McpAdapterUpstreamDown.md).',
    upstream_session_terminated:
      'The upstream lost its session during a call, more often than `sessions.upstream_session_termination_retries` allows.',
  },
  'The adapter': {
    draining: 'This replica is shutting down. Another one takes the request.',
    reconciling:
      'The adapter has just started and looks for files first (`state_persistence.reconciliation`). Try again.',
    state_unavailable:
      'Redis or the SQLite file cannot be used, even after `redis.wait_seconds`. `/healthz` says why. See [McpAdapterStateStoreFailing](../runbooks/McpAdapterStateStoreFailing.md).',
    internal: 'A bug in the adapter. The log has the cause.',
  },
};
