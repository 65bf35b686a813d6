import { hash } from 'node:crypto';

import { namesRequest } from '../../exchange/headers.ts';
import { SESSIONLESS_REVISION, type Body, type Request } from '../../exchange/message.ts';
import { members, locate, splice } from '../../exchange/scanning/json-scan.ts';
import { NAME_PARAMETER, type ParameterHeader } from '../../exchange/sessionless-headers.ts';
import { encodeHeader, repeatedHeaders } from '../../tools/parameter-headers.ts';
import { sessionlessHeaders } from '../../upstream/revision-probe.ts';
import { isObject, objectOf } from '../../../lib/json/json-object.ts';
import { clientCapabilities } from './same-capabilities.ts';
import { META } from '../../exchange/protocol-meta.ts';

const OF_PROTOCOL: ReadonlySet<string> = new Set(Object.values(META));
/** Whether a key of `_meta` is the protocol's own, and no extension's. */
export const isProtocolMeta = (key: string): boolean => OF_PROTOCOL.has(key);

/** Parameters that mean something else, or something, in the newer revision only. */
const NOT_OLDER = new Set(['_meta', 'inputResponses', 'requestState', 'task']);

/** What an older client said of itself in `initialize`, as the newer revision wants it with each request. */
export interface ClientIdentity {
  /** JSON texts. */
  readonly info: string;
  readonly capabilities: string;
  /** What can be asked of it. */
  readonly asks: Asks;
}

export interface Asks {
  readonly elicitation: boolean;
  readonly elicitationUrl: boolean;
  readonly sampling: boolean;
  readonly roots: boolean;
}

/** @param initializeParams JSON text of the parameters of `initialize` */
export function identityOf(initializeParams: string): ClientIdentity {
  const { clientInfo, capabilities } = JSON.parse(initializeParams) as { clientInfo?: unknown; capabilities?: unknown };
  const relayed = clientCapabilities(objectOf(capabilities));
  // Its list cannot be told of as changed any more.
  if (relayed['roots'] !== undefined) relayed['roots'] = {};
  const elicitation = objectOf(relayed['elicitation']);
  return {
    info: JSON.stringify(isObject(clientInfo) ? clientInfo : { name: 'unknown', version: '0' }),
    capabilities: JSON.stringify(relayed),
    asks: {
      elicitation:
        relayed['elicitation'] !== undefined && (elicitation['form'] !== undefined || elicitation['url'] === undefined),
      elicitationUrl: elicitation['url'] !== undefined,
      sampling: relayed['sampling'] !== undefined,
      roots: relayed['roots'] !== undefined,
    },
  };
}

/** What a request says beside what the client wrote. */
export interface NewerParts {
  readonly client: ClientIdentity;
  /** JSON text of a level; undefined where the client has set none. */
  readonly logLevel: string | undefined;
  /** JSON text in place of the client's own; undefined: that one stays. */
  readonly progressToken?: string | undefined;
  /** Answers to what the server asked: JSON texts by its keys. */
  readonly inputResponses?: ReadonlyMap<string, string> | undefined;
  /** JSON text as the server wrote it. */
  readonly requestState?: string | undefined;
}

/**
 * A request of an older client (JSON text) as the newer revision wants it: who asks stands in it (MCP 2026-07-28, per-request
 * metadata). Nothing of it is serialised again but what is exchanged.
 */
export function newerRequest(text: string, parts: NewerParts): string {
  const params = locate(text, ['params']);
  const from = params === undefined ? [] : [...members(text, params.start)];
  const meta = from.findLast(({ key }) => key === '_meta');
  const kept = from.filter(({ key }) => !NOT_OLDER.has(key)).map(({ keyStart, end }) => text.slice(keyStart, end));
  const own = [`"_meta":{${metaMembers(text, meta?.start, parts).join(',')}}`];
  if (parts.inputResponses !== undefined) {
    const answers = Array.from(parts.inputResponses, ([key, result]) => `${JSON.stringify(key)}:${result}`);
    own.push(`"inputResponses":{${answers.join(',')}}`);
  }
  if (parts.requestState !== undefined) own.push(`"requestState":${parts.requestState}`);
  const made = `{${[...own, ...kept].join(',')}}`;
  if (params !== undefined) return splice(text, [{ ...params, with: made }]);
  const end = text.lastIndexOf('}');
  return `${text.slice(0, end)},"params":${made}${text.slice(end)}`;
}

function metaMembers(text: string, at: number | undefined, { client, logLevel, progressToken }: NewerParts): string[] {
  const own = [
    `"${META.protocolVersion}":"${SESSIONLESS_REVISION}"`,
    `"${META.clientInfo}":${client.info}`,
    `"${META.clientCapabilities}":${client.capabilities}`,
  ];
  if (logLevel !== undefined) own.push(`"${META.logLevel}":${logLevel}`);
  if (progressToken !== undefined) own.push(`"progressToken":${progressToken}`);
  if (at === undefined) return own;
  for (const { key, keyStart, end } of members(text, at)) {
    if (isProtocolMeta(key) || (key === 'progressToken' && progressToken !== undefined)) continue;
    own.push(text.slice(keyStart, end));
  }
  return own;
}

/** The headers of such a request, from those of the same request in a session (names and values in turn). */
export function newerHeaders(
  headers: readonly string[],
  { method, params }: Pick<Request, 'method' | 'params'>,
  declared: readonly ParameterHeader[],
): string[] {
  const out = [...credentialHeaders(headers), ...sessionlessHeaders(method)];
  const name = params[NAME_PARAMETER[method] ?? ''];
  if (typeof name === 'string') out.push('mcp-name', encodeHeader(name));
  out.push(...repeatedHeaders(declared, params['arguments']));
  return out;
}

/** Headers (names and values in turn) of a POST, without those that belong to one message of the protocol. */
export function credentialHeaders(headers: readonly string[]): string[] {
  return [...OF_POST, ...without(headers, (lower) => lower.startsWith('mcp-') || OF_MESSAGE.has(lower))];
}

/** Stands for all in such headers that says who asks. */
export function credentialKey(headers: readonly string[]): string {
  const said = without(headers, (lower) => lower.startsWith('mcp-') || OF_MESSAGE.has(lower) || namesRequest(lower));
  return hash('sha256', said.join('\n'), 'base64');
}

const OF_POST = ['content-type', 'application/json', 'accept', 'application/json, text/event-stream'];
const OF_MESSAGE = new Set(['content-type', 'accept', 'last-event-id']);

function without(headers: readonly string[], drops: (lower: string) => boolean): string[] {
  const out: string[] = [];
  for (let at = 0; at < headers.length; at += 2) {
    const [name = '', value = ''] = headers.slice(at, at + 2);
    if (!drops(name.toLowerCase())) out.push(name, value);
  }
  return out;
}

/** A body of one message with this text. */
export function bodyOf(message: Request, text: string): Body {
  return { bytes: Buffer.from(text), text, messages: [message], batch: false };
}
