import { type AdapterError, rpcErrorText } from '../errors.ts';
import type { Incoming } from './incoming.ts';

/** Answers with one JSON-RPC error for each request in the body. */
export function sendError(incoming: Incoming, error: AdapterError, idTexts: readonly string[]): void {
  incoming.facts.outcome = error.code;
  const { reply } = incoming;
  if (reply.headersSent) {
    reply.end();
    return;
  }
  if (error.retryAfter !== undefined) reply.setHeader('retry-after', String(error.retryAfter));
  const ids = idTexts.length === 0 ? ['null'] : idTexts;
  const texts = ids.map((idText) => rpcErrorText(error.code, error.message, idText));
  sendJson(incoming, error.status, texts.length === 1 ? (texts[0] ?? '') : `[${texts.join(',')}]`, undefined);
}

/** Answers with JSON text of a whole message. */
export function sendJson(
  { reply, facts }: Incoming,
  status: number,
  text: string,
  sessionId: string | undefined,
): void {
  const headers: Record<string, string | number> = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    'x-request-id': facts.requestId,
  };
  if (sessionId !== undefined) headers['mcp-session-id'] = sessionId;
  reply.writeHead(status, headers);
  reply.end(text);
}
