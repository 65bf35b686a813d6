import type { IncomingHttpHeaders, ServerResponse } from 'node:http';

/** A request on a mount, past authentication. */
export interface Incoming {
  readonly headers: IncomingHttpHeaders;
  readonly reply: ServerResponse;
  /** How the client reached us, as the connection or a trusted proxy says. */
  readonly request: { readonly protocol: string; readonly host: string };
  /** Hash of the caller's token, '' when authentication is off. */
  readonly principal: string;
  /** What the access log says about it; filled in on the way. */
  readonly facts: RequestFacts;
}

export interface RequestFacts {
  readonly requestId: string;
  serverId?: string;
  sessionId?: string;
  rpcMethod?: string;
  tool?: string;
  outcome?: string;
  /** Why code that was run has failed. */
  reason?: string;
}
