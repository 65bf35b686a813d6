import { elements } from '../exchange/json-scan.ts';
import { type Body, type Message, type Request, toolName } from '../exchange/message.ts';
import type { CallFacts } from '../exchange/request-facts.ts';
import type { Caller } from '../path/caller.ts';
import { argumentsText } from '../telemetry/audit-arguments.ts';

/** Notes for log and telemetry what a client asks for. */
export function noteRequest({ facts, headers }: Caller, body: Body): void {
  const first = body.messages[0] as Message;
  if (first.kind !== 'response') facts.rpcMethod = body.batch ? 'batch' : first.method;
  const version = headers['mcp-protocol-version'];
  if (typeof version === 'string') facts.protocolVersion = version;
  if (body.batch) facts.calls = body.messages.filter(isCall).map(callFacts);
  else if (isCall(first)) facts.tool = toolName(first) ?? '';
}

/** Notes the arguments of its calls, by their hash: undefined while its key is not there. */
export function noteArguments(
  { facts }: Caller,
  { text, messages, batch }: Body,
  hash: (argumentsText: string) => string | undefined,
): void {
  const hashed = (at: number): string | undefined => {
    const found = argumentsText(text, at);
    return found === undefined ? undefined : hash(found);
  };
  if (!batch) {
    const one = facts.tool === undefined ? undefined : hashed(0);
    if (one !== undefined) facts.argumentsHash = one;
    return;
  }
  const calls = facts.calls?.values();
  let index = 0;
  for (const { start } of elements(text)) {
    const message = messages[index++];
    if (message === undefined || !isCall(message)) continue;
    const call = calls?.next().value;
    const one = call === undefined ? undefined : hashed(start);
    if (call !== undefined && one !== undefined) call.argumentsHash = one;
  }
}

const isCall = (message: Message): message is Request => message.kind === 'request' && message.method === 'tools/call';

const callFacts = (call: Request): CallFacts => ({ tool: toolName(call) ?? '', idText: call.idText });
