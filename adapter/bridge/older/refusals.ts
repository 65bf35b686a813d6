import { METHOD_NOT_FOUND } from '../../exchange/message.ts';
import { locate } from '../../exchange/scanning/json-scan.ts';
import { saysNothing } from '../../upstream/revision-probe.ts';

/** Codes of MCP 2026-07-28 that servers answer with. */
export const HEADER_MISMATCH = -32020;
export const MISSING_CAPABILITY = -32021;
export const UNSUPPORTED_REVISION = -32022;
const INVALID_PARAMS = -32602;
const INTERNAL = -32603;
const OF_NEWER = new Set([HEADER_MISMATCH, MISSING_CAPABILITY, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL]);

/** The code of an error response (JSON text); undefined for a result. */
export function errorCode(text: string): number | undefined {
  const span = locate(text, ['error', 'code']);
  return span === undefined ? undefined : Number(text.slice(span.start, span.end));
}

/**
 * Whether a refusal of a request of the newer revision may mean that the server does not speak that (any more): one with
 * sessions misses the id of one, each in its own words.
 * @param code of the error; undefined where there was none
 */
export function isSuspect(status: number, code: number | undefined): boolean {
  if (code === UNSUPPORTED_REVISION) return true;
  if (status < 400 || saysNothing(status)) return false;
  return code === undefined || !OF_NEWER.has(code);
}
