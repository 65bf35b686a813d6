import { JsonLimitError } from '../lib/json/json-limits.ts';

/** JSON-RPC 2.0, section 5.1. */
export const PARSE_ERROR = -32700;
export const INVALID_REQUEST = -32600;

/**
 * Everything that the adapter itself may answer to a request with an error: code → HTTP status, JSON-RPC error code,
 * default sentence. (What cannot be read as a request is answered in `http/server.ts`.) On HTTP routes the body is
 * `{detail, code}`, on MCP mounts a JSON-RPC error that carries `code` in its data. JSON-RPC codes of our own lie outside
 * the range that the protocol reserves.
 */
export const ERRORS = {
  unauthorized: { status: 401, rpc: 401, detail: 'The authentication token is missing or wrong.' },
  invalid_token: { status: 401, rpc: 401, detail: 'The token is not valid here.' },
  insufficient_scope: { status: 403, rpc: 403, detail: 'The token lacks a scope.' },
  ambiguous_credentials: { status: 400, rpc: 400, detail: 'The header Authorization stands there twice.' },
  issuer_unavailable: {
    status: 503,
    rpc: 503,
    detail: 'The authorization server does not answer, so the token cannot be checked; try again.',
  },
  forbidden: { status: 403, rpc: 403, detail: 'This caller may not do that here.' },
  forbidden_origin: { status: 403, rpc: 403, detail: 'Requests from this origin are not allowed.' },
  forbidden_host: {
    status: 403,
    rpc: 403,
    detail: 'This host name is not served here; if it is a name of this server, add it to core.allowed_hosts.',
  },
  not_found: { status: 404, rpc: 404, detail: 'There is nothing at this path.' },
  method_not_allowed: { status: 405, rpc: 405, detail: 'This method is not allowed here.' },
  request_timeout: { status: 408, rpc: 408, detail: 'Too little of the request came for a while.' },
  body_too_large: { status: 413, rpc: 413, detail: 'The request body is too large.' },
  unsupported_media_type: { status: 415, rpc: 415, detail: 'The body must be application/json.' },
  parse_error: { status: 400, rpc: PARSE_ERROR, detail: 'The body is not valid JSON.' },
  invalid_request: { status: 400, rpc: INVALID_REQUEST, detail: 'The message is not a valid JSON-RPC message.' },
  missing_client_header: { status: 400, rpc: INVALID_REQUEST, detail: 'A required header is missing.' },
  missing_session: { status: 400, rpc: -32000, detail: 'The Mcp-Session-Id header is missing; initialize first.' },
  session_not_found: { status: 404, rpc: -32001, detail: 'The session is unknown or has ended; initialize again.' },
  session_invalidated: { status: 404, rpc: -32001, detail: 'The session was invalidated; initialize again.' },
  session_ended: { status: 404, rpc: -32001, detail: 'The session was ended while the request was running.' },
  sessions_limit: { status: 429, rpc: 429, detail: 'The maximum number of active sessions is reached.' },
  in_flight_limit: { status: 429, rpc: 429, detail: 'The session has reached its maximum of tool calls in flight.' },
  rate_limited: { status: 429, rpc: 429, detail: 'There were too many tool calls; wait before the next one.' },
  concurrency_limited: { status: 429, rpc: 429, detail: 'Too many tool calls are running; wait until one has ended.' },
  overloaded: { status: 503, rpc: 503, detail: 'Too many bytes of requests are under way; try again.' },
  uploads_disabled: { status: 400, rpc: 400, detail: 'Uploads are switched off.' },
  invalid_multipart: { status: 400, rpc: 400, detail: 'The body is not valid multipart/form-data.' },
  no_file: { status: 400, rpc: 400, detail: 'The form has no file; send it as the field "file".' },
  sha256_missing: { status: 400, rpc: 400, detail: 'The form field "sha256" is required for every file.' },
  sha256_count: { status: 400, rpc: 400, detail: 'There must be one sha256 field for each file, in the same order.' },
  sha256_mismatch: { status: 400, rpc: 400, detail: 'A file does not match its sha256.' },
  file_too_large: { status: 413, rpc: 413, detail: 'A file is larger than uploads.max_file_bytes allows.' },
  session_quota: { status: 507, rpc: 507, detail: 'The files of this session take up all the space that it may use.' },
  storage_quota: { status: 507, rpc: 507, detail: 'The files of all sessions take up all the space that there is.' },
  artifact_limit: { status: 507, rpc: 507, detail: 'The session has as many artifacts as it may have.' },
  storage_busy: { status: 503, rpc: 503, detail: 'Another request works on the same file; try again.' },
  storage_unavailable: { status: 503, rpc: 503, detail: 'The storage of files is unavailable; try again.' },
  upload_url_invalid: { status: 401, rpc: 401, detail: 'The upload URL is not valid.' },
  download_url_invalid: { status: 401, rpc: 401, detail: 'The download URL is not valid.' },
  unknown_server: { status: 404, rpc: 404, detail: 'There is no server of this name.' },
  artifact_not_found: { status: 404, rpc: -32002, detail: 'There is no such artifact.' },
  range_not_satisfiable: { status: 416, rpc: 416, detail: 'The file has no such range.' },
  upload_wanted: { status: 200, rpc: -32042, detail: 'The tool needs a file; open the URL to upload it.' },
  request_state_invalid: { status: 400, rpc: -32602, detail: 'The requestState is not valid.' },
  legacy_upstream: {
    status: 400,
    rpc: -32000,
    detail: 'This server speaks the protocol revisions up to 2025-11-25; open a session with initialize.',
  },
  invalid_metadata: { status: 400, rpc: -32602, detail: 'The metadata of the request is incomplete.' },
  unsupported_revision: { status: 400, rpc: -32022, detail: 'This protocol revision is not spoken here.' },
  stream_conflict: { status: 409, rpc: 409, detail: 'The session has an event stream open already.' },
  header_mismatch: { status: 400, rpc: -32020, detail: 'A header does not match the body.' },
  tool_definition_drift: {
    status: 200,
    rpc: 409,
    detail: 'Tools of this server have changed since this session saw them first.',
  },
  prompt_definition_drift: {
    status: 200,
    rpc: 409,
    detail: 'Prompts of this server have changed since this session saw them first.',
  },
  unknown_prompt: { status: 200, rpc: -32602, detail: 'Unknown prompt.' },
  unknown_task: { status: 200, rpc: -32602, detail: 'Unknown task.' },
  unknown_method: { status: 200, rpc: -32601, detail: 'This protocol revision has no such method.' },
  unknown_tool: { status: 200, rpc: -32602, detail: 'Unknown tool.' },
  unknown_resource: { status: 200, rpc: -32002, detail: 'There is no such resource.' },
  upstream_session_terminated: {
    status: 200,
    rpc: -32001,
    detail: 'Session terminated: the upstream ended its session.',
  },
  upstream_unavailable: {
    status: 503,
    rpc: 503,
    detail: 'The upstream server is unhealthy; requests are rejected for now.',
  },
  upstream_unreachable: { status: 502, rpc: 502, detail: 'The upstream server could not be reached.' },
  upstream_failed: { status: 502, rpc: 502, detail: 'The upstream server failed to answer.' },
  upstream_timeout: { status: 504, rpc: 504, detail: 'The upstream server did not answer in time.' },
  cancelled: { status: 200, rpc: -32800, detail: 'The request was cancelled.' },
  draining: { status: 503, rpc: 503, detail: 'This replica is shutting down; open the session again elsewhere.' },
  reconciling: {
    status: 503,
    rpc: 503,
    detail: 'The adapter has just started and is looking for files of lost sessions; try again.',
  },
  state_unavailable: {
    status: 503,
    rpc: 503,
    detail: 'The state store is unavailable; stateful operations are rejected.',
  },
  internal: { status: 500, rpc: -32603, detail: 'Internal error.' },
} as const satisfies Record<string, { status: number; rpc: number; detail: string }>;

export type ErrorCode = keyof typeof ERRORS;

interface ErrorOptions {
  readonly cause?: unknown;
  readonly retryAfter?: number;
  readonly data?: Record<string, unknown>;
}

/** An expected failure with a place in the table above. */
export class AdapterError extends Error {
  override readonly name = 'AdapterError';
  readonly code: ErrorCode;
  /** Seconds, sent as Retry-After (RFC 9110, section 10.2.3). */
  readonly retryAfter: number | undefined;
  /** Stands in the data of the JSON-RPC error, beside the code. */
  readonly data: Record<string, unknown> | undefined;

  constructor(code: ErrorCode, detail?: string, options?: ErrorOptions) {
    super(detail ?? ERRORS[code].detail, options?.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.data = options?.data;
    this.retryAfter =
      options?.retryAfter ?? (ERRORS[code].status === 429 || ERRORS[code].status === 503 ? 5 : undefined);
  }

  /** The same in other words, which may be those of an upstream. */
  saying(words: (text: string) => string): AdapterError {
    const detail = words(this.message);
    if (detail === this.message) return this;
    const { cause, data, retryAfter } = this;
    return new AdapterError(this.code, detail, { cause, data, retryAfter });
  }

  get status(): number {
    return ERRORS[this.code].status;
  }
}

/** A rule denies a method to the caller. */
export const forbids = (method: string): AdapterError =>
  new AdapterError('forbidden', `This caller may not use ${method} here.`);

/** Another token of the same caller would do. */
export const lacksScope = (scope: string): AdapterError =>
  new AdapterError('insufficient_scope', `The token lacks the scope ${scope}.`, { data: { scope } });

/** No room is left for what waits of answers. */
export const answersOverloaded = (): AdapterError =>
  new AdapterError('overloaded', 'Too many bytes of answers are under way; try again.', { retryAfter: 1 });

/** An answer that cannot be worked on. */
export const upstreamNotJson = (): AdapterError =>
  new AdapterError('upstream_failed', 'The upstream server answered with text that is not valid JSON.');

/** Any failure as one of the table; what has no place there is told to `onUnexpected` and becomes `internal`. */
export function knownError(error: unknown, onUnexpected: (error: unknown) => void): AdapterError {
  if (error instanceof AdapterError) return error;
  if (error instanceof Error && error.name === 'StoreUnavailable') {
    return new AdapterError('state_unavailable', undefined, { cause: error });
  }
  // What clients send is refused where it is read.
  if (error instanceof JsonLimitError) {
    const detail = `The answer of the upstream server cannot be read: ${error.message}.`;
    return new AdapterError('upstream_failed', detail, { cause: error });
  }
  if (isFault(error) && (error.code === 'ENOSPC' || error.code === 'EDQUOT')) {
    return new AdapterError('storage_quota', 'There is no space left on the disk.', { cause: error });
  }
  onUnexpected(error);
  if (isFault(error) || (error instanceof Error && error.name === 'BlobStoreFailed')) {
    return new AdapterError('storage_unavailable', undefined, { cause: error });
  }
  return new AdapterError('internal', undefined, { cause: error });
}

/** A failure of the disk (files/semaphore.ts). */
const isFault = (error: unknown): error is Error & { code: unknown } =>
  error instanceof Error && error.name === 'StorageFault' && 'code' in error;

/** A JSON-RPC error with the request's id, for MCP mounts. */
export function rpcErrorText(code: ErrorCode, detail: string, idText: string, data?: Record<string, unknown>): string {
  const error = { code: ERRORS[code].rpc, message: detail, data: { code, ...data } };
  return `{"jsonrpc":"2.0","id":${idText},"error":${JSON.stringify(error)}}`;
}

/** The error body of plain HTTP routes. */
export function httpErrorText(code: string, detail: string): string {
  return JSON.stringify({ detail, code });
}
