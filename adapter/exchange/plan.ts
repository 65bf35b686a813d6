import type { ServerResponse } from 'node:http';

import type { Holder } from '../byte-account.ts';
import type { AdapterError, ErrorCode } from '../errors.ts';
import type { ResponseHead, Upstream, UpstreamRequest } from '../upstream/upstream.ts';
import type { Noted } from './answer-watch.ts';
import type { Answer } from './answer.ts';
import type { KeepAlive } from './keep-alive.ts';
import type { RunningExchanges } from './running.ts';

/**
 * How long what is made of a complete answer may take beyond the time limit: it is the upstream's. Less than what leases
 * of files leave.
 */
export const AFTER_LIMIT_MS = 50_000;

/** What one exchange is to do; everything that differs between kinds of messages. */
export interface Plan {
  /** Tells this exchange from others of its session; '' where nobody asks. */
  readonly id: string;
  readonly serverId: string;
  readonly upstream: Upstream;
  readonly request: UpstreamRequest;
  readonly reply: ServerResponse;
  /** Sent as X-Request-Id; stands in the access log too. */
  readonly requestId: string;
  readonly keepAlive: KeepAlive;
  readonly running: RunningExchanges;
  /** For whom what waits is counted. */
  readonly holder: Holder;
  /** JSON texts of the ids of the requests in the body; they get an error when no answer can come any more. */
  readonly idTexts: readonly string[];
  /** Sent as Mcp-Session-Id; `initialize` sets it when the session is open. */
  sessionId: string | undefined;
  /**
   * Milliseconds until `onTimeout` is called; null waits as long as the client does. An upstream that has answered by
   * then was in time: AFTER_LIMIT_MS are left for `onResponse`.
   */
  readonly timeoutMs: number | null;
  /** The answer to these requests when the time is over, as JSON text of a whole message. */
  readonly onTimeout: (unanswered: readonly string[]) => string | AdapterError;
  /**
   * Sees the response message (JSON text) before the client does and returns what the client gets. When that is
   * streamed, the time limit is over once its first part leaves.
   */
  readonly onResponse: ((text: string, head: ResponseHead) => Promise<Answer> | Answer) | undefined;
  /**
   * Sees what comes here of responses that were asked for elsewhere (JSON text): clients take a response from any stream.
   * Undefined: they pass as they are.
   */
  readonly onStray: ((text: string) => Promise<string> | string) | undefined;
  /** Holds the head of an event stream back until `onResponse` has returned: it decides about a header. */
  readonly holdHead: boolean;
  /**
   * Called when the upstream does not know the session (404, or a 400 that says so of a request that named one), or has
   * a stream open already (409). Returns the request to send instead, or throws the AdapterError to answer with. Undefined: the answer
   * goes to the client.
   */
  readonly again: ((status: number) => Promise<UpstreamRequest>) | undefined;
  /** May turn an upstream answer into an error of ours, before anything is sent. */
  readonly onHead: (head: ResponseHead) => AdapterError | undefined;
  /**
   * Called, and awaited, before the last awaited response leaves on an event stream, which the upstream may keep open
   * for longer. Never fails.
   */
  readonly onAnswered: (() => Promise<void> | undefined) | undefined;
  /** Called, and awaited, before a message that mentions a changed list reaches the client. */
  readonly onListChanged: (() => Promise<void>) | undefined;
  /** Where it is noted what the answer says of errors; undefined where nobody asks. */
  readonly noted: Noted | undefined;
  /** Any failure as the error to answer with; what is unexpected is logged there. */
  readonly known: (error: unknown) => AdapterError;
  /**
   * Called once, when the client's exchange is over. Awaited before the last byte leaves. `goesOn`: without a response, on
   * a stream that the client can take up again.
   */
  readonly onFinish: (outcome: Outcome, goesOn: boolean) => Promise<void> | undefined;
}

export type Outcome = 'ok' | 'timeout' | 'client_closed' | 'upstream_broke' | ErrorCode;
