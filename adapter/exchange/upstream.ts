import type { IncomingHttpHeaders } from 'node:http';

import type { Holder } from '../byte-account.ts';
import type { Body } from './message.ts';

/**
 * One mounted upstream server. The engine sends it one HTTP exchange at a time and gets one HTTP response back,
 * whatever the transport behind it does; nothing is retried in here.
 */
export interface Upstream {
  /** Starts an exchange. Everything that happens next is reported to the sink, never thrown. */
  send(request: UpstreamRequest, sink: ResponseSink): void;
  /** Ends the upstream's session. Best effort, within `timeoutMs`. */
  endSession(session: UpstreamSession, headers: readonly string[], timeoutMs: number): Promise<void>;
  /** Whether a stream of this upstream session can be taken up again at this event id; false for another session's. */
  knowsEvent(eventId: string, session: UpstreamSession): boolean;
  /** Whether the transport can carry the sessionless revision (2026-07-28) at all. */
  readonly modern: boolean;
  /** Closes all connections. */
  close(): Promise<void>;
}

export interface UpstreamSession {
  readonly serverId: string;
  readonly sessionId: string;
  /** As in SessionRecord; undefined while `initialize` is on its way. */
  readonly upstreamSessionId: string | null | undefined;
  readonly generation: number;
  /** What the client said in `initialize`, the level and the subscriptions that it has set, as in SessionRecord. */
  readonly initializeParams?: string;
  readonly logLevel?: string | null;
  readonly subscriptions?: readonly string[];
}

export interface UpstreamRequest {
  readonly method: 'POST' | 'GET' | 'DELETE';
  /** Undefined for messages of the sessionless revision. */
  readonly session: UpstreamSession | undefined;
  /** Names and values in turn, without the session's header. */
  readonly headers: readonly string[];
  readonly body: Body | undefined;
  /** Where a GET takes up the stream again. */
  readonly lastEventId?: string | undefined;
  /** Whether the upstream speaks other revisions than the client, who has no session; undefined: that is to be found out. */
  readonly isBridged?: boolean | undefined;
  /** Names the exchange for whoever takes what the upstream asks meanwhile; undefined: nobody does. */
  readonly exchange?: string | undefined;
  /** Undefined: the request is made for the first time. */
  readonly resumed?: ResumedExchange | undefined;
  /** Keyed hash of who is calling; undefined for requests of the adapter's own. */
  readonly principal?: string | undefined;
  /** For whom what is kept of an answer is counted; undefined for requests of the adapter's own. */
  readonly holder?: Holder | undefined;
}

/** Where a call of a client without sessions stands at an upstream that has them. */
export interface ExchangePosition extends Pick<UpstreamSession, 'sessionId' | 'generation'> {
  readonly upstreamSessionId: string | null;
  readonly protocolVersion: string;
  /** JSON texts of the request as the upstream knows it. */
  readonly idText: string;
  readonly progressToken: string;
  /** Where its stream can be taken up again; undefined: nowhere. */
  readonly lastEventId: string | undefined;
}

/** A call whose replica is gone: it is taken up where it stood, with answers to what was asked (JSON texts of responses). */
export interface ResumedExchange {
  readonly position: ExchangePosition;
  readonly answers: readonly string[];
}

export interface ResponseHead {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The session that the upstream opened with this answer. */
  readonly upstreamSessionId: string | null;
}

/** What a sink may do to its exchange while it runs. */
export interface ResponseControl {
  /** Stops the flow of data until `resume`. */
  pause(): void;
  resume(): void;
  /** Gives the exchange up; the sink hears nothing more. */
  abort(): void;
}

/**
 * Who hears of an exchange, in this order; after an abort, nothing more:
 *
 *     onStart ─▶ onHead ─▶ onData* ─▶ onEnd
 *        └──────────┴─────────┴─────▶ onError
 */
export interface ResponseSink {
  /** Called once, before anything else; the exchange may be aborted from here on. */
  onStart(control: ResponseControl): void;
  onHead(head: ResponseHead): void;
  onData(chunk: Buffer): void;
  onEnd(): void;
  /** The exchange failed; `sent` is false when the request certainly never reached the upstream. */
  onError(error: Error, sent: boolean): void;
}
