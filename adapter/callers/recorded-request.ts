import { elements } from '../exchange/scanning/json-scan.ts';
import { type Body, isCall, type Message, type Request, toolName } from '../exchange/message.ts';
import type { CallAttributes, RequestAttributes } from '../exchange/request-attributes.ts';
import type { Caller } from '../path/caller.ts';
import { argumentsText } from '../telemetry/logs/audit-arguments.ts';

/** As JSON text in, keyed hash out; undefined while its key is not there. */
export type HashArguments = (argumentsText: string) => string | undefined;

/**
 * Notes for log and telemetry what a client asks for.
 * @param hash names the arguments of calls in the audit log; undefined without one
 */
export function recordRequest(caller: Caller, body: Body, hash: HashArguments | undefined): void {
  const { attributes, headers } = caller;
  const first = body.messages[0] as Message;
  if (first.kind !== 'response') attributes.rpcMethod = body.batch ? 'batch' : first.method;
  const version = headers['mcp-protocol-version'];
  if (typeof version === 'string') attributes.protocolVersion = version;
  if (body.batch) attributes.calls = body.messages.filter(isCall).map(callAttributes);
  else if (isCall(first)) attributes.tool = toolName(first) ?? '';
  if (hash !== undefined) noteArguments(attributes, body, hash);
}

function noteArguments(attributes: RequestAttributes, { text, messages, batch }: Body, hash: HashArguments): void {
  const hashed = (at: number): string | undefined => {
    const found = argumentsText(text, at);
    return found === undefined ? undefined : hash(found);
  };
  if (!batch) {
    const one = attributes.tool === undefined ? undefined : hashed(0);
    if (one !== undefined) attributes.argumentsHash = one;
    return;
  }
  const calls = attributes.calls?.values();
  let index = 0;
  for (const { start } of elements(text)) {
    const message = messages[index++];
    if (message === undefined || !isCall(message)) continue;
    const call = calls?.next().value;
    const one = call === undefined ? undefined : hashed(start);
    if (call !== undefined && one !== undefined) call.argumentsHash = one;
  }
}

const callAttributes = (call: Request): CallAttributes => ({ tool: toolName(call) ?? '', idText: call.idText });
