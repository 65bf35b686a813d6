import { AdapterError, rpcErrorText } from '../errors.ts';
import { noteResult } from '../exchange/answer-watch.ts';
import type { Outcome } from '../exchange/exchange.ts';
import type { Body, Message, Request } from '../exchange/message.ts';
import { toolName } from '../exchange/message.ts';
import { isWorkspace } from '../sessions/workspace.ts';
import { sendJson, sendResult } from './answers.ts';
import { completeCall } from './own-result.ts';
import type { Mount, PreparedCall, ToolCall, ToolStep } from './turn.ts';

/** What an exchange is to do for the step of a call; nothing of a call that has none. */
export type ForwardedCall = Extract<PreparedCall, { kind: 'forward' }>;

/**
 * The step for the only call of a body. Throws for a call that would get past its step: one in a batch, and one whose
 * name only some parsers would find.
 */
export function stepOf(mount: Mount, body: Body, calls: readonly Message[]): ToolStep | undefined {
  if (mount.steps.size === 0) return undefined;
  for (const call of calls) {
    const name = toolName(call);
    if (name === undefined) throw new AdapterError('unknown_tool', 'The tool call names no tool.');
    const step = mount.steps.get(name);
    if (step === undefined) continue;
    if (!body.batch) return step;
    throw new AdapterError('invalid_request', `Calls of ${name} cannot be part of a batch; send one message.`);
  }
  return undefined;
}

/**
 * A call of a tool that the adapter does something to:
 *
 *     prepare ─┬─ result, error ───────────────────────────────▶ the client has its answer, the upstream hears nothing
 *              └─ forward ─ exchange ─┬─ onResponse ─▶ client
 *                                     └─ time out, error, client gone
 *                                     … and in every case onEnd, once
 *
 * Runs `exchange`, which must take over `onEnd` unless it fails, or answers. `done` runs before that answer leaves.
 */
export async function callTool(
  call: ToolCall,
  step: ToolStep,
  exchange: (prepared: ForwardedCall) => void,
  done: () => Promise<void> | undefined,
): Promise<void> {
  const { incoming, admitted } = call.turn;
  const sessionId = isWorkspace(call.record) ? undefined : call.record.sessionId;
  const prepared = await step.prepare(call);
  if (prepared.kind === 'forward') {
    try {
      // The exchange would wait for a client that has gone while the call was prepared.
      if (!incoming.reply.destroyed) return exchange(prepared);
      admitted.finished('client_closed');
      await end(prepared, 'client_closed', done);
    } catch (error) {
      await end(prepared, 'internal', done);
      throw error;
    }
    return;
  }
  // A client goes on when it has its result: its place must be free by then.
  await done();
  admitted.finished('ok');
  if (prepared.kind === 'error') {
    const { error, data } = prepared;
    incoming.facts.outcome = error.code;
    const text = rpcErrorText(error.code, error.message, call.request.idText, data);
    sendJson(incoming, error.status, text, sessionId);
    return;
  }
  incoming.facts.outcome = 'answered';
  if (call.turn.parts.telemetry.isOn) noteResult(incoming.facts, prepared.result);
  const result = sessionId === undefined ? completeCall(prepared.result) : prepared.result;
  await sendResult(incoming, call.request.idText, result, sessionId);
}

async function end(prepared: ForwardedCall, outcome: Outcome, done: () => Promise<void> | undefined): Promise<void> {
  await prepared.onEnd?.(outcome);
  await done();
}

/** The call of a step, as far as the body says. */
export function toolCall(parts: Omit<ToolCall, 'request' | 'tool'>): ToolCall {
  const request = parts.body.messages[0] as Request;
  return { ...parts, request, tool: toolName(request) ?? '' };
}
