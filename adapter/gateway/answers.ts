import { type AdapterError, answersOverloaded, rpcErrorText } from '../errors.ts';
import { type Answer, surround } from '../exchange/answer.ts';
import { endWhole } from '../exchange/end-whole.ts';
import { streamAnswer } from '../exchange/stream-answer.ts';
import { whileLeaving } from '../exchange/unread.ts';
import type { Incoming } from './incoming.ts';

/** What is larger is counted before it leaves. */
const LARGE_CHARS = 16 << 10;
const AFTER_RESULT = Buffer.from('}');

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
  if (text.length > LARGE_CHARS) {
    sendParts(incoming, status, [Buffer.from(text)], sessionId);
    return;
  }
  const headers = { ...headersOf(incoming, sessionId), 'content-length': Buffer.byteLength(text) };
  incoming.reply.writeHead(status, headers);
  incoming.reply.end(text);
  whileLeaving(incoming.reply, incoming.holder);
}

/** Answers a request with a result of which the bytes may leave to others too. */
export function sendShared(incoming: Incoming, idText: string, result: Buffer, sessionId: string | undefined): void {
  const before = Buffer.from(`{"jsonrpc":"2.0","id":${idText},"result":`);
  sendParts(incoming, 200, [before, result, AFTER_RESULT], sessionId, [idText]);
}

function sendParts(
  incoming: Incoming,
  status: number,
  parts: readonly Buffer[],
  sessionId: string | undefined,
  idTexts: readonly string[] = [],
): void {
  const { reply, holder } = incoming;
  let size = 0;
  for (const part of parts) size += part.length;
  const kept = holder.share('answers');
  if (!kept.take(size)) {
    sendError(incoming, answersOverloaded(), idTexts);
    return;
  }
  reply.writeHead(status, { ...headersOf(incoming, sessionId), 'content-length': size });
  endWhole(reply, parts, size, holder, kept);
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
  else await streamAnswer(incoming.reply, 200, headersOf(incoming, sessionId), answer, incoming.holder);
}

function headersOf({ facts }: Incoming, sessionId: string | undefined): Record<string, string | number> {
  const headers: Record<string, string | number> = {
    'content-type': 'application/json',
    'x-request-id': facts.requestId,
  };
  if (sessionId !== undefined) headers['mcp-session-id'] = sessionId;
  return headers;
}
