import type { AdapterError } from '../errors.ts';
import type { KeepAlive } from '../exchange/keep-alive.ts';
import type { RunningExchanges } from '../exchange/running.ts';
import type { SessionFiles } from '../sessions/session-files.ts';
import type { SessionRegistry } from '../sessions/session-registry.ts';
import type { UpstreamSessions } from '../sessions/upstream-sessions.ts';
import type { MessageBus } from '../state/message-bus.ts';
import type { StateStore } from '../state/state-store.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { Tracing } from '../telemetry/tracing.ts';
import type { Admitted } from './admitted.ts';
import type { Incoming } from './incoming.ts';
import type { Mount } from './mount.ts';
import type { RequestTrace } from './request-trace.ts';
import type { ToolParameters } from './tool-parameters.ts';

/** What the gateway works with; one of each per program. */
export interface GatewayParts {
  readonly store: StateStore;
  readonly bus: MessageBus;
  readonly sessions: SessionRegistry;
  readonly sessionFiles: Pick<SessionFiles, 'purge' | 'invalidate'>;
  readonly upstreamSessions: UpstreamSessions;
  readonly running: RunningExchanges;
  readonly keepAlive: KeepAlive;
  readonly toolParameters: ToolParameters;
  readonly telemetry: Pick<Telemetry, 'isOn' | 'session'>;
  /** The audit log names the arguments of calls by their hash. */
  readonly hashesArguments: boolean;
  /** Undefined without traces. */
  readonly tracing: Pick<Tracing, 'begin'> | undefined;
  /** How long the id of a session that was ended for good is refused, in milliseconds. */
  readonly tombstoneTtlMs: number;
  readonly terminationRetries: number;
  /** Why no session can be opened here now; undefined when one can. */
  readonly refusesSessions: () => 'draining' | 'reconciling' | undefined;
  /** Any failure as the error to answer with; what is unexpected is logged there. */
  readonly known: (error: unknown) => AdapterError;
}

/** One request of a client on one mount, admitted by the breaker. */
export interface Turn {
  readonly parts: GatewayParts;
  readonly mount: Mount;
  readonly incoming: Incoming;
  readonly admitted: Admitted;
  /** Undefined without traces. */
  readonly trace: RequestTrace | undefined;
}
