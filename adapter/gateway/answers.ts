import { type AdapterError, rpcErrorText } from '../errors.ts';
import { type Answer, surround } from '../exchange/answer.ts';
import { streamAnswer } from '../exchange/stream-answer.ts';
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
  const texts = ids.map((idText) => rpcErrorText(error.code, error.message, idText, error.data));
  sendJson(incoming, error.status, texts.length === 1 ? (texts[0] ?? '') : `[${texts.join(',')}]`, undefined);
}

/** Answers with JSON text of a whole message. */
export function sendJson(incoming: Incoming, status: number, text: string, sessionId: string | undefined): void {
  const headers = { ...headersOf(incoming, sessionId), 'content-length': Buffer.byteLength(text) };
  incoming.reply.writeHead(status, headers);
  incoming.reply.end(text);
}

/** Answers a request with its result, which may come in parts. Resolves when it has left, or the client has. */
export async function sendResult(
  incoming: Incoming,
  idText: string,
  result: Answer,
  sessionId: string | undefined,
): Promise<void> {
  const answer = surround(`{"jsonrpc":"2.0","id":${idText},"result":`, result, '}');
  if (typeof answer === 'string') sendJson(incoming, 200, answer, sessionId);
  else await streamAnswer(incoming.reply, 200, headersOf(incoming, sessionId), answer);
}

function headersOf({ facts }: Incoming, sessionId: string | undefined): Record<string, string | number> {
  const headers: Record<string, string | number> = {
    'content-type': 'application/json',
    'x-request-id': facts.requestId,
  };
  if (sessionId !== undefined) headers['mcp-session-id'] = sessionId;
  return headers;
}
