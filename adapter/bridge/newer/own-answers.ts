import { METHOD_NOT_FOUND, type Request } from '../../exchange/message.ts';
import type { Upstream } from '../../exchange/upstream.ts';
import { errorResponse } from '../wire/responses.ts';
import { type CallSession, postMessage } from './call-session.ts';

/** Each is a connection. A server that asks for more than it takes is not answered. */
const MAX_OPEN = 32;

/** What the adapter answers by itself when a server asks. */
export class OwnAnswers {
  readonly #upstream: Upstream;
  #open = 0;

  constructor(upstream: Upstream) {
    this.#upstream = upstream;
  }

  /** -32601 where nobody takes questions, and `ping` as always (MCP 2025-11-25, ping). */
  unclaimed(session: CallSession, { method, idText }: Request): void {
    if (method === 'ping') return this.pong(session, idText);
    const message = 'Nobody answers questions on this stream.';
    this.post(session, errorResponse(idText, { code: METHOD_NOT_FOUND, message }));
  }

  pong(session: CallSession, idText: string): void {
    this.post(session, `{"jsonrpc":"2.0","id":${idText},"result":{}}`);
  }

  /** @param text JSON text of a response */
  post(session: CallSession, text: string): void {
    if (this.#open >= MAX_OPEN) return;
    this.#open += 1;
    const response = { kind: 'response', idText: '', params: {} } as const;
    postMessage(this.#upstream, session, response, text)
      .catch(() => undefined)
      .finally(() => {
        this.#open -= 1;
      });
  }
}
