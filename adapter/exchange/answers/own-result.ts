import type { Answer } from './answer.ts';
import { locate } from '../scanning/json-scan.ts';

/**
 * What results must have beside their content in the sessionless revision (MCP 2026-07-28): that they are complete, and
 * that nobody keeps them, because another caller would not get the same.
 */
const MEMBERS = '"resultType":"complete","ttlMs":0,"cacheScope":"private"';

/** A result of the adapter's own for a client without sessions; takes one for a client with a session, not empty. */
export function completeResult(result: Answer): Answer {
  if (typeof result === 'string') return `{${MEMBERS},${result.slice(1)}`;
  const { bytes, parts } = result;
  return {
    bytes: bytes === undefined ? undefined : bytes + Buffer.byteLength(MEMBERS) + 1,
    parts: withMembers(parts),
  };
}

/** The result of a tool call (JSON text), which says that it is complete. */
export function completeCall(result: string): string {
  if (locate(result, ['resultType']) !== undefined) return result;
  return `{"resultType":"complete",${result.slice(1)}`;
}

/** The parts, with the members after the brace that they begin with. */
async function* withMembers(parts: AsyncIterable<string | Buffer>): AsyncGenerator<string | Buffer> {
  let isFirst = true;
  for await (const part of parts) {
    if (isFirst && part.length > 0) {
      isFirst = false;
      yield `{${MEMBERS},`;
      yield typeof part === 'string' ? part.slice(1) : part.subarray(1);
    } else yield part;
  }
}
