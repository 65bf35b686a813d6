import type { Redact } from '../../lib/redaction/redact.ts';
import type { DisabledTools } from '../catalog/disabled-tools.ts';
import type { AdapterError } from '../errors.ts';
import type { Answer } from '../exchange/answer.ts';
import type { HeaderForwarding } from '../exchange/headers.ts';
import type { KeepAlive } from '../exchange/keep-alive.ts';
import type { Body, Request } from '../exchange/message.ts';
import type { Outcome } from '../exchange/plan.ts';
import type { Refusal } from '../exchange/refusal.ts';
import type { RunningExchanges } from '../exchange/running.ts';
import type { SessionFiles } from '../sessions/session-files.ts';
import type { SessionRegistry } from '../sessions/session-registry.ts';
import type { UpstreamSessions } from '../sessions/upstream-sessions.ts';
import type { FileRecord } from '../state/file-records.ts';
import type { MessageBus } from '../state/message-bus.ts';
import type { SessionRecord, StateStore } from '../state/state-store.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { Tracing } from '../telemetry/tracing.ts';
import type { CircuitBreaker } from '../upstream/circuit-breaker.ts';
import type { EraProbe } from '../upstream/era.ts';
import type { ListCache } from '../upstream/list-cache.ts';
import type { PingLoop } from '../upstream/ping-loop.ts';
import type { ProtectedResource } from '../upstream/protected-resource.ts';
import type { ResponseHead, Upstream } from '../upstream/upstream.ts';
import type { Admitted } from './admitted.ts';
import type { Incoming } from './incoming.ts';
import type { OwnResources } from './own-resources.ts';
import type { RequestTrace } from './request-trace.ts';
import type { ServerTexts } from './server-texts.ts';
import type { StreamOrder } from './stream-order.ts';
import type { ToolInventory } from './tool-inventory.ts';
import type { ToolParameters } from './tool-parameters.ts';
import type { ToolSurface } from './tool-surface.ts';

/*
 * What a step is done to is a call, a call belongs to a turn, a turn to a mount, and a mount has the steps: these types name
 * each other, so they stand together. They say what there is; what is done with it stands elsewhere.
 */

/** One request of a client on one mount, admitted by the breaker. */
export interface Turn {
  readonly parts: GatewayParts;
  readonly mount: Mount;
  readonly incoming: Incoming;
  readonly admitted: Admitted;
  /** Undefined without traces. */
  readonly trace: RequestTrace | undefined;
}

/** What the gateway works with; one of each per program. */
export interface GatewayParts {
  readonly store: StateStore;
  readonly bus: MessageBus;
  readonly sessions: SessionRegistry;
  readonly sessionFiles: Pick<SessionFiles, 'purge' | 'invalidate'>;
  readonly upstreamSessions: UpstreamSessions;
  readonly streamOrder: StreamOrder;
  readonly running: RunningExchanges;
  readonly keepAlive: KeepAlive;
  readonly toolParameters: ToolParameters;
  readonly telemetry: Pick<Telemetry, 'isOn' | 'session'>;
  /** The audit log names the arguments of calls by their hash. Undefined without it; gives none while the key is not there. */
  readonly hashArguments: ((argumentsText: string) => string | undefined) | undefined;
  /** Undefined without traces. */
  readonly tracing: Pick<Tracing, 'begin'> | undefined;
  /** How long the id of a session that was ended for good is refused, in milliseconds. */
  readonly tombstoneTtlMs: number;
  readonly terminationRetries: number;
  /** The URL that a client has reached the adapter by, without a slash at the end. */
  readonly baseUrl: (request: Incoming['request']) => string;
  /** Why no session can be opened here now; undefined when one can. */
  readonly refusesSessions: () => 'draining' | 'reconciling' | undefined;
  /** Whether event streams are better opened at other replicas now. */
  readonly leavesStreams: () => boolean;
  /** Any failure as the error to answer with; what is unexpected is logged there. */
  readonly known: (error: unknown) => AdapterError;
}

/** One mounted server: its upstream and everything that belongs to it on this replica. */
export interface Mount {
  readonly serverId: string;
  readonly path: string;
  readonly upstream: Upstream;
  /** The same upstream for requests of the adapter's own, which are told to telemetry one by one. */
  readonly own: Upstream;
  readonly headers: HeaderForwarding;
  /** Lower-case names of `client_headers.required`. */
  readonly requiredHeaders: readonly string[];
  readonly breaker: CircuitBreaker;
  /** Undefined when `upstream_ping.enabled` is false; then the breaker stays closed. */
  readonly ping: PingLoop | undefined;
  readonly era: EraProbe;
  readonly lists: ListCache;
  /** The upstream's tools, as the adapter and its clients have seen them listed. */
  readonly inventory: ToolInventory;
  readonly disabled: DisabledTools;
  /** Tools whose names have invisible characters do not exist for clients. */
  readonly hidesUnseen: boolean;
  /** What clients see of the tools. */
  readonly surface: ToolSurface;
  /** What else the upstream says to models. */
  readonly texts: ServerTexts;
  /** What is done to the calls of which tools; those of the adapter's own are among them. */
  readonly steps: ReadonlyMap<string, ToolStep>;
  /** Undefined when the adapter adds none to the upstream's. */
  readonly resources: OwnResources | undefined;
  readonly timeoutOf: (tool: string | undefined) => number | null;
  /** Clients authenticate to the upstream themselves, so its 401 is theirs to see. */
  readonly relaysChallenges: boolean;
  /** What the upstream says of how they do; undefined where they do not. */
  readonly protectedResource: ProtectedResource | undefined;
  /** Told of what the upstream has sent and no client gets, because it is no message of the protocol or nobody asked for it. */
  readonly dropped: (refusal: Refusal) => void;
  /** For the upstream's words in errors of ours: it may repeat what it was sent. */
  readonly redact: Redact;
}

/** What the adapter does to the calls of one tool, before and after the exchange with the upstream. */
export interface ToolStep {
  /**
   * Whether a call makes something that must belong to a session: a file, or the permission to upload one. For a client
   * without sessions one is opened then (see workspaces.ts).
   */
  readonly needsHome: boolean;
  /** Calls of other tools come from this one, which count as in flight themselves. */
  readonly runsOthers?: true;
  prepare(call: ToolCall): Promise<PreparedCall>;
  /** A call that went on without its exchange, whose response comes on a stream of `turn`. */
  takeUp?(turn: Turn, record: SessionRecord, left: LeftCall): TakenUpCall;
}

/** What is kept of a call that goes on without its exchange. */
export interface LeftCall {
  readonly tool: string;
  /** What it was told to write, or may have written. */
  readonly file: FileRecord;
}

/** As of a forwarded call (see PreparedCall). */
export interface TakenUpCall {
  readonly onResponse: (text: string) => Promise<Answer>;
  readonly onEnd: () => Promise<void>;
}

/** A single tools/call; batches never come here. `record` is that of a workspace where the client has no sessions. */
export interface ToolCall {
  readonly turn: Turn;
  readonly record: SessionRecord;
  readonly body: Body;
  readonly request: Request;
  readonly tool: string;
  /** Milliseconds, null for none. */
  readonly timeoutMs: number | null;
}

export type PreparedCall =
  /** The call goes no further: the JSON text of its result. */
  | { readonly kind: 'result'; readonly result: string }
  | { readonly kind: 'error'; readonly error: AdapterError; readonly data?: Record<string, unknown> }
  | {
      readonly kind: 'forward';
      /** What goes upstream; the client's own body where nothing was changed. */
      readonly body: Body;
      /** Sees the JSON text of the response message and says what the client gets. */
      readonly onResponse?: (text: string, head: ResponseHead) => Promise<Answer> | Answer;
      /**
       * Called once, when the exchange is over, however it ended. `goesOn`: the call runs on, and its response comes on
       * another stream. Never fails.
       */
      readonly onEnd?: (outcome: Outcome, goesOn?: boolean) => Promise<void> | undefined;
    };
