import { argumentAt, type ParameterHeader } from '../exchange/sessionless-headers.ts';

/** What may stand in a header as it is: visible ASCII and spaces between. */
const PLAIN = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;
const LOOKS_ENCODED = /^=\?base64\?.*\?=$/;

/**
 * The headers of a sessionless tool call (names and values in turn) after its arguments were changed: `Mcp-Param-*`
 * must repeat what goes upstream, or a router between would decide by something else (MCP 2026-07-28, -32020). Only
 * strings are ever changed, so what repeats anything else stays as the client wrote it.
 */
export function withParameters(
  headers: readonly string[],
  declared: readonly ParameterHeader[],
  args: unknown,
): string[] {
  const changed = new Map<string, string>();
  for (const { header, path } of declared) {
    const value = argumentAt(args, path);
    if (typeof value === 'string') changed.set(header, encodeHeader(value));
  }
  const out: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    const [name = '', value = ''] = headers.slice(i, i + 2);
    if (!changed.has(name.toLowerCase())) out.push(name, value);
  }
  for (const [name, value] of changed) out.push(name, value);
  return out;
}

/** A value as it stands in such a header; `decodeHeader` reads it. */
export function encodeHeader(value: string): string {
  if (PLAIN.test(value) && !LOOKS_ENCODED.test(value)) return value;
  return `=?base64?${Buffer.from(value, 'utf8').toString('base64')}?=`;
}

/** The headers (names and values in turn) that repeat these arguments. */
export function repeatedHeaders(declared: readonly ParameterHeader[], args: unknown): string[] {
  const out: string[] = [];
  for (const { header, path } of declared) {
    const value = argumentAt(args, path);
    if (typeof value === 'string') out.push(header, encodeHeader(value));
    else if (typeof value === 'number' || typeof value === 'boolean') out.push(header, String(value));
  }
  return out;
}
