import { type Body, type Message, type Request, toolName } from '../exchange/message.ts';
import { errorResult } from '../exchange/edited-call.ts';

/** Any request that is no tool call; generous, because a server may ask the user something meanwhile. */
export const REQUEST_TIMEOUT_MS = 300_000;
/** Requests that are meant to stay open. */
const OPEN_ENDED = new Set(['subscriptions/listen', 'tasks/result']);

/** Limit of a body without tool calls, in milliseconds; null: as long as the client waits. */
export function requestTimeout(body: Body): number | null {
  const openEnded = body.messages.some((message) => message.kind === 'request' && OPEN_ENDED.has(message.method));
  return openEnded ? null : REQUEST_TIMEOUT_MS;
}

/** The limit of several calls in one body. */
export function longest(limits: readonly (number | null)[]): number | null {
  let max = 0;
  for (const limit of limits) {
    if (limit === null) return null;
    max = Math.max(max, limit);
  }
  return max;
}

/**
 * A call that ran out of time, as a result that a model can read (the call may still have had effects).
 * @param shape what the client's revision wants of results
 */
export function timeoutResults(
  serverId: string,
  calls: readonly Message[],
  limits: readonly (number | null)[],
  shape: (result: string) => string = (result) => result,
): string {
  const results = calls.map((call, i) => {
    const seconds = (limits[i] ?? 0) / 1000;
    const text =
      `The tool "${toolName(call) ?? ''}" of the server "${serverId}" did not finish within its limit of ${seconds} ` +
      'seconds and was cancelled. It may have had effects already.';
    return `{"jsonrpc":"2.0","id":${(call as Request).idText},"result":${shape(errorResult(text))}}`;
  });
  return results.length === 1 ? (results[0] ?? '') : `[${results.join(',')}]`;
}
