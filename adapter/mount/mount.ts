import type { FileRulesWatch } from '../file-roles/file-rules-watch.ts';
import type { Redact } from '../../lib/redaction/redact.ts';
import type { DisabledTools } from '../catalog/disabled-tools.ts';
import type { HeaderForwarding } from '../exchange/headers.ts';
import type { Refusal } from '../exchange/scanning/refusal.ts';
import type { LockWatch } from '../lock/lock-watch.ts';
import type { ServerToolLock } from '../lock/server-tool-lock.ts';
import type { CircuitBreaker } from '../upstream/circuit-breaker.ts';
import type { RevisionProbe } from '../upstream/revision-probe.ts';
import type { ListCache } from '../upstream/list-cache.ts';
import type { PingLoop } from '../upstream/ping-loop.ts';
import type { ProtectedResource } from '../upstream/protected-resource.ts';
import type { ExchangePosition, Upstream } from '../exchange/upstream.ts';
import type { CallLimits } from '../tools/call-limits.ts';
import type { ResultSpilling } from '../spill/result-spilling.ts';
import type { OwnResources } from '../lists/own-resources.ts';
import type { ServerTexts } from '../lists/server-texts.ts';
import type { ToolInventory } from '../tools/tool-inventory.ts';
import type { ToolStep } from '../tools/visible/tool-step.ts';
import type { VisibleCatalog } from '../tools/visible/visible-catalog.ts';

/** What lets clients of one protocol revision reach an upstream of another. */
export interface Bridge {
  readonly upstream: Upstream;
  /** Of calls that ask. */
  readonly limits: { readonly maxRounds: number; readonly ttlMs: number };
  /** Brings an answer (JSON text of a response) to what the upstream asked in this exchange. Rejects when it does not arrive. */
  answer(exchange: string, text: string): Promise<void>;
  /** Leaves the exchange as it is at the upstream: another replica goes on with it. */
  abandon(exchange: string): void;
  /** Where the exchange stands; undefined: it is none, or has no session yet. */
  position(exchange: string): ExchangePosition | undefined;
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
  /** Undefined where nothing limits calls. */
  readonly callLimits: CallLimits | undefined;
  /** Undefined when `upstream_ping.enabled` is false; then the breaker stays closed. */
  readonly ping: PingLoop | undefined;
  /** Why the upstream refuses the adapter (401, 403), by status and body; undefined where clients bring the credentials. */
  readonly refusal: ((status: number, body: string) => string) | undefined;
  readonly revisions: RevisionProbe;
  /** Undefined where clients must speak what the upstream does. */
  readonly bridge: Bridge | undefined;
  readonly lists: ListCache;
  /** The upstream's tools, as the adapter and its clients have seen them listed. */
  readonly inventory: ToolInventory;
  readonly disabled: DisabledTools;
  /** Tools whose names have invisible characters do not exist for clients. */
  readonly hidesUnseen: boolean;
  /** What clients see of the tools. */
  readonly visibleCatalog: VisibleCatalog;
  /** What else the upstream says to models. */
  readonly texts: ServerTexts;
  /** What is done to the calls of which tools; those of the adapter's own are among them. */
  readonly steps: ReadonlyMap<string, ToolStep>;
  /** Undefined when the adapter adds none to the upstream's. */
  readonly resources: OwnResources | undefined;
  /** `artifacts.scope` */
  readonly artifactScope: 'session' | 'principal';
  /** What makes long results shorter; undefined where they pass. */
  readonly spilling: ResultSpilling | undefined;
  /** What does not fit between the entries of `adapters` and the server; undefined where there are none. */
  readonly fileRules: Pick<FileRulesWatch, 'unmatched' | 'filesNotTaken'> | undefined;
  /** How the server differs from the lock; undefined where there is none. */
  readonly lockWatch: Pick<LockWatch, 'report'> | undefined;
  /** What holds the server to the lock; undefined where there is none. */
  readonly toolLock: Pick<ServerToolLock, 'recompare'> | undefined;
  /** The upstream has told a client that its lists have changed; undefined where that concerns nobody else. */
  readonly onListsChanged: (() => void) | undefined;
  readonly timeoutOf: (tool: string | undefined) => number | null;
  /** Not everybody who comes in may do everything. */
  readonly hasAccessRules: boolean;
  /** Clients authenticate to the upstream themselves, so its 401 is theirs to see. */
  readonly relaysChallenges: boolean;
  /** What the upstream says of how they do; undefined where they do not. */
  readonly protectedResource: ProtectedResource | undefined;
  /** Told of what the upstream has sent and no client gets, because it is no message of the protocol or nobody asked for it. */
  readonly dropped: (refusal: Refusal) => void;
  /** For the upstream's words in errors of ours: it may repeat what it was sent. */
  readonly redact: Redact;
}
