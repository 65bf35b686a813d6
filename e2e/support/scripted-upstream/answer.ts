import type { Behavior } from './behavior.ts';
import type { EventStream } from './event-stream.ts';
import { asObject, type ClientMessage, errorText, type JsonObject, notificationText, resultText } from './json-rpc.ts';
import type { UpstreamSession } from './session.ts';
import type { ScriptedCall, ScriptedTool } from './tools.ts';

/** Answers a request with a result. */
export type ScriptedMethod = (params: JsonObject) => JsonObject;

/** The methods besides `initialize` and those of tools that the upstream starts with. */
export const standardMethods = (): Map<string, ScriptedMethod> =>
  new Map<string, ScriptedMethod>([
    ['ping', () => ({})],
    ['logging/setLevel', () => ({})],
    ['resources/list', () => ({ resources: [{ uri: 'test://one', name: 'one', mimeType: 'text/plain' }] })],
    ['resources/templates/list', () => ({ resourceTemplates: [] })],
    ['resources/read', ({ uri }) => ({ contents: [{ uri, mimeType: 'text/plain', text: 'content' }] })],
    ['resources/subscribe', () => ({})],
    ['resources/unsubscribe', () => ({})],
    ['prompts/list', () => ({ prompts: [] })],
  ]);

export interface Script {
  readonly behavior: Behavior;
  readonly tools: Map<string, ScriptedTool>;
  readonly methods: Map<string, ScriptedMethod>;
  readonly released: (key: string) => Promise<void>;
}

/** The response to one request as JSON text; undefined when there is to be none. */
export async function answer(
  script: Script,
  session: UpstreamSession,
  message: ClientMessage,
  openStream: () => EventStream,
): Promise<string | undefined> {
  const { method, idText, params } = message;
  if (method === 'tools/list') return resultText(idText, JSON.stringify(listTools(script, params.cursor)));
  if (method === 'tools/call') return await callTool(script, session, message, openStream);
  const result = script.methods.get(method ?? '')?.(params);
  return result === undefined
    ? errorText(idText, -32601, 'Method not found')
    : resultText(idText, JSON.stringify(result));
}

function listTools({ behavior, tools }: Script, cursor: unknown): JsonObject {
  const all = [...tools].map(([name, { definition }]) => ({ name, ...definition }));
  const start = typeof cursor === 'string' ? Number(cursor) : 0;
  const end = start + (behavior.pageSize ?? all.length);
  return { tools: all.slice(start, end), ...(end < all.length && { nextCursor: String(end) }) };
}

async function callTool(
  script: Script,
  session: UpstreamSession,
  { id, idText, params }: ClientMessage,
  openStream: () => EventStream,
): Promise<string | undefined> {
  const tool = script.tools.get(String(params.name));
  if (tool === undefined || id === undefined) return errorText(idText, -32602, 'Unknown tool');
  const call: ScriptedCall = {
    arguments: asObject(params.arguments),
    progressToken: asObject(params._meta).progressToken,
    session,
    cancelled: session.startCall(id),
    stream: openStream,
    notify: (method, notification) => openStream().send(notificationText(method, notification)),
    released: script.released,
  };
  try {
    const result = await tool.call(call);
    if (result === undefined) return undefined;
    if ('bodyText' in result) return String(result.bodyText).replaceAll('$ID', idText);
    return resultText(idText, 'resultText' in result ? String(result.resultText) : JSON.stringify(result));
  } catch (error) {
    return errorText(idText, -32603, String(error));
  } finally {
    session.endCall(id);
  }
}
