import type { ServerResponse } from 'node:http';

import type { AdapterError } from '../errors.ts';
import type { Caller } from '../path/caller.ts';
import { errorHeaders, errorText } from './error-text.ts';

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
  reply.writeHead(error.status, errorHeaders(text, attributes.requestId, error));
  reply.end(text);
}
