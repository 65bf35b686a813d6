import { ANSWER_LIMITS, parseJson } from '../../lib/json/json-limits.ts';
import { type CallResponse, resultForCode } from './nested-result.ts';
import { ownTurn } from '../../lib/stream/own-turn.ts';
import type { RequestAttributes } from '../exchange/request-attributes.ts';
import type { ToolCall } from '../tools/visible/tool-step.ts';

/** One that is as long is parsed in a turn of its own: code makes many calls at once. */
const LARGE_CHARS = 32 << 10;

export interface NestedCall {
  readonly tool: string;
  readonly args: Record<string, unknown>;
  /** Filled in on the way, as those of a client's request. */
  readonly attributes: RequestAttributes;
  /** Of the message that was sent; filled in. */
  bytes: number;
}

/** Calls a tool as the client of the outer call would; resolves with the JSON text of the response message. */
export type CallTool = (outer: ToolCall, nested: NestedCall, signal: AbortSignal) => Promise<string>;

/**
 * Calls a tool of the same server for code that runs within a call. Resolves with the JSON text of what the code gets; rejects
 * with an Error whose message is for the code.
 */
export async function nestedCall(
  callTool: CallTool,
  outer: ToolCall,
  nested: NestedCall,
  signal: AbortSignal,
): Promise<string> {
  try {
    const text = await callTool(outer, nested, signal);
    await ownTurn(text.length, LARGE_CHARS);
    return resultForCode(text, parseJson(text, ANSWER_LIMITS) as CallResponse | null);
  } catch (error) {
    if (signal.aborted) throw new Error('The call was aborted.', { cause: error });
    throw error;
  }
}
