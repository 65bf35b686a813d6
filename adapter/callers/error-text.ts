import type { OutgoingHttpHeaders } from 'node:http';

import { type AdapterError, rpcErrorText } from '../errors.ts';

/** One JSON-RPC error for each of these requests (JSON texts of their ids). */
export function errorText({ code, message, data }: AdapterError, idTexts: readonly string[]): string {
  const ids = idTexts.length === 0 ? NO_ID : idTexts;
  const texts = ids.map((idText) => rpcErrorText(code, message, idText, data));
  return texts.length === 1 ? (texts[0] ?? '') : `[${texts.join(',')}]`;
}

const NO_ID = ['null'];

/** Headers of a body that says why there is no answer. `error`: undefined where somebody else has said why. */
export function errorHeaders(body: string, requestId: string, error: AdapterError | undefined): OutgoingHttpHeaders {
  return {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'x-request-id': requestId,
    ...(error?.retryAfter !== undefined && { 'retry-after': String(error.retryAfter) }),
  };
}
