import type { ServerResponse } from 'node:http';

import type { AdapterError } from '../errors.ts';
import type { Caller } from '../path/caller.ts';
import { errorText } from './error-text.ts';

/** Refuses a request that becomes no operation, with one JSON-RPC error for each of these ids (JSON texts). */
export function sendError(
  reply: ServerResponse,
  caller: Caller,
  error: AdapterError,
  idTexts: readonly string[],
): void {
  const { attributes } = caller;
  attributes.outcome = error.code;
  if (reply.headersSent) {
    reply.end();
    return;
  }
  const text = errorText(error, idTexts);
  if (error.retryAfter !== undefined) reply.setHeader('retry-after', String(error.retryAfter));
  reply.writeHead(error.status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    'x-request-id': attributes.requestId,
  });
  reply.end(text);
}
