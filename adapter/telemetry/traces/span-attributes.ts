import type { Attributes } from '@opentelemetry/api';

import { type Body, type Message, modernRevision, toolName } from '../../exchange/message.ts';

/** What a span is called, and what it says from the start. */
export interface SpanSubject {
  readonly name: string;
  readonly attributes: Attributes;
}

/** An HTTP exchange, as far as its span tells of it. */
export interface SpannedRequest {
  readonly serverId: string;
  readonly httpMethod: string;
  /** The path of the mount, which names requests without a method of MCP. */
  readonly route: string;
  readonly body: Body | undefined;
  readonly protocolVersion: unknown;
}

/** What comes from clients may be of any length. */
const MAX_CHARS = 200;
const REVISION = /^\d{4}-\d{2}-\d{2}$/;
const STRING_OR_NUMBER = /^"|^-?\d/;

/**
 * Name and attributes by OpenTelemetry's conventions for MCP. Arguments, results and URIs of resources are left out: they
 * are the business of client and server. `safe` takes what is secret out of a text.
 */
export function spanSubject(request: SpannedRequest, safe: (text: string) => string): SpanSubject {
  const { serverId, httpMethod, route, body, protocolVersion } = request;
  const short = (text: string): string => safe(text).slice(0, MAX_CHARS);
  const attributes: Attributes = {
    'mcp_adapter.server.id': serverId,
    'network.transport': 'tcp',
    'network.protocol.name': 'http',
    'http.request.method': httpMethod,
  };
  const message = body === undefined || body.batch ? undefined : body.messages[0];
  const version = revisionOf(message) ?? protocolVersion;
  if (typeof version === 'string' && REVISION.test(version)) attributes['mcp.protocol.version'] = version;
  if (message === undefined || message.kind === 'response') {
    if (body?.batch === true) attributes['mcp_adapter.batch.size'] = body.messages.length;
    return { name: `${httpMethod} ${route}`, attributes };
  }
  const method = short(message.method);
  attributes['mcp.method.name'] = method;
  if (message.kind === 'request' && STRING_OR_NUMBER.test(message.idText)) {
    attributes['jsonrpc.request.id'] = short(idOf(message.idText));
  }
  const target = targetOf(message);
  if (target === undefined) return { name: method, attributes };
  const shown = short(target);
  if (message.method === 'tools/call') {
    attributes['gen_ai.operation.name'] = 'execute_tool';
    attributes['gen_ai.tool.name'] = shown;
  } else attributes['gen_ai.prompt.name'] = shown;
  return { name: `${method} ${shown}`, attributes };
}

/** The revision that a message names itself. */
function revisionOf(message: Message | undefined): unknown {
  if (message === undefined) return undefined;
  return message.kind === 'request' && message.method === 'initialize'
    ? message.params['protocolVersion']
    : modernRevision(message);
}

function targetOf(message: Message): string | undefined {
  if (message.kind !== 'request') return undefined;
  return message.method === 'tools/call' || message.method === 'prompts/get' ? toolName(message) : undefined;
}

/** The id itself; strings are known as JSON text. */
function idOf(idText: string): string {
  return idText.startsWith('"') ? (JSON.parse(idText) as string) : idText;
}
