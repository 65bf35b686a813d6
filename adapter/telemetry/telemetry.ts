import type { HeldKind } from '../byte-account.ts';
import type { Refusal } from '../exchange/scanning/refusal.ts';
import type { ErrorCode } from '../errors.ts';
import type { RequestAttributes } from '../exchange/request-attributes.ts';

/**
 * What the parts of the adapter tell about what they do. A call costs about a microsecond: it only queues what it is
 * given. Nothing that is told may be changed afterwards.
 */
export interface Telemetry {
  /** Whether anybody listens. Where not, nobody need find out what only these observations would say. */
  readonly isOn: boolean;
  /** The end of a request, on any route. */
  request(observed: RequestObservation): void;
  /** The end of a call that was made by code (code mode), which is no request of its own. */
  nestedCall(observed: NestedCallObservation): void;
  upload(observed: UploadObservation): void;
  uploadFailed(observed: { readonly serverId: string | undefined; readonly reason: UploadFailure }): void;
  /** A request of the adapter's own to an upstream: pings, lists, handshakes. Those of clients stand in their `attributes`. */
  upstreamCall(observed: UpstreamCallObservation): void;
  ping(observed: PingObservation): void;
  policyTransition(observed: PolicyTransition): void;
  nonce(observed: NonceObservation): void;
  credential(observed: CredentialObservation): void;
  download(observed: DownloadObservation): void;
  /** A file of a tool became an artifact. */
  artifact(observed: { readonly serverId: string; readonly bytes: number }): void;
  /** A file of a tool did not become one. */
  artifactFailed(observed: { readonly serverId: string; readonly reason: ErrorCode }): void;
  /** A result that was too long: it became an artifact, or passed as it was because it could not be kept. */
  spilled(observed: { readonly serverId: string; readonly result: 'spilled' | 'passed' }): void;
  /** An entry of `adapters` that does not fit its server, or a file that was named and not taken. */
  fileRule(observed: { readonly serverId: string; readonly reason: 'no_tool' | 'no_argument' | 'not_taken' }): void;
  /** What a server lists differs from the tool lock in a way that was not told before. */
  lockDrift(observed: { readonly serverId: string }): void;
  /** A request over the bridge between revisions has come to its end. */
  bridged(observed: BridgedObservation): void;
  filesRemoved(observed: FilesRemovedObservation): void;
  /** Whether a server can be used: after its wiring at the start, and whenever it was tried again. */
  wiring(observed: { readonly serverId: string; readonly result: 'ready' | 'retry' }): void;
  cleanup(observed: CleanupObservation): void;
  session(observed: SessionObservation): void;
  drift(observed: DriftObservation): void;
  /** What an upstream has sent and no client gets. */
  dropped(observed: { readonly serverId: string; readonly reason: Refusal; readonly messages: number }): void;
  /** A call that a limit has refused. */
  limited(observed: LimitedObservation): void;
  /** Gives what is asked for its value whenever metrics are collected. */
  observe(sources: TelemetrySources): void;
}

export interface RequestObservation {
  /** Of the route that matched, also where the server is not a configured one. */
  readonly serverId?: string | undefined;
  /** HTTP method as it came. */
  readonly method: string;
  /** Pattern of the route that matched, or `unmatched`; never a path that a client chose. */
  readonly route: string;
  /** HTTP status. */
  readonly status: number;
  /** From the first byte of the request until the answer has left. */
  readonly seconds: number;
  readonly attributes: Readonly<RequestAttributes>;
  /** Hash of the caller's token, '' when authentication is off. */
  readonly principal: string;
  readonly bytesIn: number;
  readonly bytesOut: number;
  /** A stream that the client opened with GET: it lasts as long as the client likes, which is no duration of anything. */
  readonly isEventStream: boolean;
}

export interface NestedCallObservation {
  readonly attributes: Readonly<RequestAttributes>;
  readonly principal: string;
  readonly seconds: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  /** Id of the request whose code made the call. */
  readonly parentRequestId?: string | undefined;
}

export interface BridgedObservation {
  readonly serverId: string;
  /** Whose revision the server does not speak: clients with sessions, or those without. */
  readonly direction: 'older_client' | 'newer_client';
  /** How often the server has asked the client meanwhile: few, as there is a limit. */
  readonly rounds: number;
}

export interface UploadObservation {
  readonly serverId: string;
  readonly files: number;
  readonly bytes: number;
}

export type UploadFailure =
  | 'unknown_server'
  | 'missing_session_header'
  | 'fail_closed'
  | 'no_file_parts'
  | 'sha256_count_mismatch'
  | 'persistence_unavailable'
  | 'session_invalidated'
  | 'persistence_backend_failure'
  | 'tool_error'
  | 'upload_processing_error'
  | 'other';

export interface UpstreamCallObservation {
  readonly serverId: string;
  /** Method of the JSON-RPC request. */
  readonly method: string;
  readonly tool?: string | undefined;
  readonly seconds: number;
  /** `tool_error`, a JSON-RPC or HTTP code, or one of our error codes; undefined where it went well. */
  readonly errorType?: string | number | undefined;
  readonly protocolVersion?: string | undefined;
}

export type BreakerState = 'closed' | 'half_open' | 'open';

export interface PingObservation {
  readonly serverId: string;
  readonly ok: boolean;
  readonly seconds: number;
  /** The breaker's state before the ping. */
  readonly stateBefore: BreakerState;
}

export interface PolicyTransition {
  readonly serverId?: string | undefined;
  readonly action: 'switch_to_fallback' | 'continue_fail_closed' | 'activate_fail_closed' | 'exit' | 'none' | 'recover';
  readonly source: `startup:${string}` | `runtime:${string}`;
  readonly policy: string;
  /** The configured one: memory, disk, redis. */
  readonly backend: string;
}

export interface NonceObservation {
  readonly serverId: string;
  readonly operation: 'reserve' | 'consume';
  readonly result: 'success' | 'collision' | 'invalid' | 'other';
  readonly backend: Backend;
}

/** What keeps nonces. */
export type Backend = 'memory' | 'sqlite' | 'redis';

export interface CredentialObservation {
  readonly serverId: string | undefined;
  readonly operation: 'issue' | 'validate';
  readonly result:
    | 'disabled'
    | 'issued'
    | 'reserve_failed'
    | 'missing_fields'
    | 'invalid_expiry'
    | 'expired'
    | 'bad_signature'
    | 'accepted'
    | 'replay_or_invalid'
    | 'other';
  readonly backend: Backend;
}

export interface DownloadObservation {
  readonly serverId: string | undefined;
  readonly result:
    | 'success'
    | 'session_mismatch'
    | 'fail_closed'
    | 'not_found'
    | 'file_missing'
    | 'filename_mismatch'
    | 'persistence_unavailable'
    | 'error';
  readonly authMode: 'signed_url' | 'session_context';
  /** Of the file, not of the headers. */
  readonly bytes: number;
  readonly seconds: number;
}

export interface FilesRemovedObservation {
  readonly kind: 'upload' | 'artifact';
  readonly reason: RemovalReason;
  readonly files: number;
}

/**
 * `evicted`: to make room for others; `failed`: it never became whole; `orphan`: bytes without a record; `dangling`: a
 * record without bytes; `session_ended`: with its session.
 */
export type RemovalReason = 'expired' | 'evicted' | 'session_ended' | 'failed' | 'orphan' | 'dangling';

export interface CleanupObservation {
  readonly status: 'ok' | 'error';
  /** Number of records by bucket. */
  readonly removed: Readonly<Record<string, number>>;
}

export interface SessionObservation {
  readonly serverId: string;
  readonly event:
    | 'created'
    | 'revived'
    | 'auth_context_bound'
    | 'idle_expired_tombstoned'
    | 'idle_expired_deleted'
    | 'tool_definition_invalidated'
    | 'ended';
  /** How long it has lasted, where it ends. */
  readonly seconds?: number | undefined;
  readonly protocolVersion?: string | undefined;
}

export interface DriftObservation {
  readonly serverId: string;
  readonly mode: string;
  readonly blockStrategy: string;
  readonly outcome: 'warn' | 'block_baseline_subset' | 'block_error' | 'block_error_invalidate_session';
}

export interface LimitedObservation {
  readonly serverId: string;
  /** Whose calls the limit counts. */
  readonly per: 'caller' | 'server' | 'tool' | 'caller+tool';
  readonly limit: 'rate' | 'concurrent';
}

/** What is read when metrics are collected. None of it may wait, or take long. */
export interface TelemetrySources {
  breakerStates(): Iterable<readonly [serverId: string, state: BreakerState]>;
  notReadyServers(): number;
  /** As the store knew them last, of all replicas. */
  activeSessions(): number | undefined;
  requestsInFlight(): number;
  heldBytes(): Iterable<readonly [kind: HeldKind, bytes: number]>;
  heldBytesLimit(): number;
  storedBytes(): Iterable<readonly [kind: 'uploads' | 'artifacts', bytes: number]>;
}

const nothing = (): void => {};

/** Nobody listens. */
export const noTelemetry: Telemetry = {
  isOn: false,
  request: nothing,
  nestedCall: nothing,
  upload: nothing,
  uploadFailed: nothing,
  upstreamCall: nothing,
  ping: nothing,
  policyTransition: nothing,
  nonce: nothing,
  credential: nothing,
  download: nothing,
  artifact: nothing,
  artifactFailed: nothing,
  spilled: nothing,
  fileRule: nothing,
  lockDrift: nothing,
  bridged: nothing,
  filesRemoved: nothing,
  wiring: nothing,
  cleanup: nothing,
  session: nothing,
  drift: nothing,
  dropped: nothing,
  limited: nothing,
  observe: nothing,
};
