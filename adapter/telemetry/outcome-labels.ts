import { type ErrorCode, ERRORS } from '../errors.ts';
import type { Failure } from '../exchange/answer-watch.ts';
import { OTHER, rpcCodeLabel } from './labels.ts';
import type { DownloadObservation, UploadFailure } from './telemetry.ts';

/*
 * What dashboards of the original know, said with its words, of how requests end here. Codes that have no word there are
 * `other`.
 */

/** What is told of a request about its end. */
interface Ended {
  readonly outcome?: string;
  readonly reason?: string;
  readonly failure?: Failure;
  readonly isAnswered?: boolean;
}

export type RejectionReason =
  | 'persistence_fail_closed'
  | 'upstream_blocked_by_breaker'
  | 'in_flight_limit_exceeded'
  | 'call_limit_exceeded'
  | 'session_invalidated'
  | 'other';

export type AuthRejectionReason =
  | 'invalid_adapter_auth_token'
  | 'missing_or_invalid_signed_upload_credential'
  | typeof CREDENTIAL_BACKEND;

/** In `attributes.reason`: a signed URL could not be checked because the state store did not answer. */
export const CREDENTIAL_BACKEND = 'upload_credential_validation_backend_unavailable';

/** Well-formed requests that the adapter refuses because of its state, its limits or its rules. */
const REJECTIONS: Partial<Record<ErrorCode, RejectionReason>> = {
  state_unavailable: 'persistence_fail_closed',
  upstream_unavailable: 'upstream_blocked_by_breaker',
  in_flight_limit: 'in_flight_limit_exceeded',
  rate_limited: 'call_limit_exceeded',
  concurrency_limited: 'call_limit_exceeded',
  session_invalidated: 'session_invalidated',
  session_not_found: 'other',
  sessions_limit: 'other',
  forbidden_host: 'other',
  forbidden_origin: 'other',
  body_too_large: 'other',
  file_too_large: 'other',
  session_quota: 'other',
  storage_quota: 'other',
  artifact_limit: 'other',
  storage_busy: 'other',
  uploads_disabled: 'other',
  stream_conflict: 'other',
  tool_definition_drift: 'other',
  unknown_tool: 'other',
  prompt_definition_drift: 'other',
  unknown_prompt: 'other',
  unknown_task: 'other',
  unknown_method: 'other',
  unknown_resource: 'other',
  draining: 'other',
  reconciling: 'other',
};

const UPLOAD_FAILURES: Partial<Record<ErrorCode, UploadFailure>> = {
  unknown_server: 'unknown_server',
  missing_session: 'missing_session_header',
  no_file: 'no_file_parts',
  sha256_count: 'sha256_count_mismatch',
  sha256_missing: 'sha256_count_mismatch',
  session_invalidated: 'session_invalidated',
  session_not_found: 'session_invalidated',
  session_ended: 'session_invalidated',
  state_unavailable: 'persistence_unavailable',
  uploads_disabled: 'tool_error',
  sha256_mismatch: 'tool_error',
  file_too_large: 'tool_error',
  session_quota: 'tool_error',
  storage_quota: 'tool_error',
  sessions_limit: 'tool_error',
  storage_busy: 'tool_error',
  storage_unavailable: 'upload_processing_error',
  invalid_multipart: 'upload_processing_error',
  request_timeout: 'upload_processing_error',
  cancelled: 'upload_processing_error',
  internal: 'upload_processing_error',
};

/** What never came to an upload or a download: it was refused before, which has metrics of its own. */
const REFUSED_BEFORE: ReadonlySet<ErrorCode> = new Set([
  'unauthorized',
  'invalid_token',
  'insufficient_scope',
  'ambiguous_credentials',
  'issuer_unavailable',
  'upload_url_invalid',
  'download_url_invalid',
  'forbidden_origin',
  'forbidden_host',
  'method_not_allowed',
]);

/** The end of a tool call, in the original's three words. */
export function toolCallResult(ended: Ended, failure: Failure | undefined): 'success' | 'error' | 'timeout' {
  const { outcome } = ended;
  if (outcome === 'timeout' || outcome === 'upstream_timeout') return 'timeout';
  return isFine(ended) && failure === undefined ? 'success' : 'error';
}

/** `error.type` of OpenTelemetry's conventions: `tool_error`, a JSON-RPC code, or one of our codes; undefined for none. */
export function errorType(ended: Ended, failure: Failure | undefined): string | undefined {
  if (ended.outcome !== undefined && !isFine(ended)) return outcomeLabel(ended.outcome);
  if (failure === undefined) return undefined;
  return failure === 'tool_error' ? failure : rpcCodeLabel(failure);
}

/** Undefined for a request that was not rejected. */
export function rejection({ outcome, reason }: Ended): RejectionReason | undefined {
  if (reason === CREDENTIAL_BACKEND || outcome === undefined || !Object.hasOwn(REJECTIONS, outcome)) return undefined;
  return REJECTIONS[outcome as ErrorCode];
}

const TOKEN_REFUSALS: ReadonlySet<string | undefined> = new Set([
  'unauthorized',
  'invalid_token',
  'insufficient_scope',
  'ambiguous_credentials',
]);

/** Undefined where nothing was wrong with token or URL. `route`: the pattern of the route that matched. */
export function authRejection({ outcome, reason }: Ended, route: string): AuthRejectionReason | undefined {
  if (reason === CREDENTIAL_BACKEND) return reason;
  const isToken = TOKEN_REFUSALS.has(outcome);
  if (isToken && !isUpload(route)) return 'invalid_adapter_auth_token';
  const isCredential = outcome === 'upload_url_invalid' || outcome === 'download_url_invalid';
  return isCredential || isToken ? 'missing_or_invalid_signed_upload_credential' : undefined;
}

/** Undefined for a request that did not come as far as an upload. */
export function uploadFailure(code: ErrorCode): UploadFailure | undefined {
  return REFUSED_BEFORE.has(code) ? undefined : (UPLOAD_FAILURES[code] ?? 'other');
}

/** Undefined for a request that did not come as far as a download. */
export function downloadFailure(code: ErrorCode): DownloadObservation['result'] | undefined {
  if (REFUSED_BEFORE.has(code)) return undefined;
  if (code === 'state_unavailable') return 'persistence_unavailable';
  return code === 'unknown_server' || code === 'artifact_not_found' ? 'not_found' : 'error';
}

/** `{upload_path}/{server_id}`: a token will do there, and a signed URL as well. */
function isUpload(route: string): boolean {
  return route.endsWith('/{server_id}');
}

/** Some clients close an event stream as soon as they have what they asked for; others because they have given up. */
function isFine({ outcome, isAnswered = false }: Ended): boolean {
  if (outcome === 'client_closed') return isAnswered;
  return outcome === undefined || outcome === 'ok' || outcome === 'answered' || outcome === 'cached';
}

function outcomeLabel(outcome: string): string {
  const isKnown = Object.hasOwn(ERRORS, outcome) || ENDS.has(outcome);
  return isKnown ? outcome : OTHER;
}

/** How an exchange ends that has no error of ours, and code that ran. */
const ENDS: ReadonlySet<string> = new Set(['timeout', 'client_closed', 'upstream_broke', 'aborted', 'failed']);
