import type { IncomingHttpHeaders } from 'node:http';

import { SESSIONLESS_REVISION, modernRevision, type Message } from './message.ts';

const ENCODED = /^=\?base64\?([A-Za-z0-9+/=]*)\?=$/;
/** Which parameter `Mcp-Name` repeats (MCP 2026-07-28, Streamable HTTP, request headers). */
export const NAME_PARAMETER: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
};

/** A header value as it was before encoding; undefined when the encoding is broken. */
export function decodeHeader(value: string): string | undefined {
  const encoded = ENCODED.exec(value);
  if (encoded === null) return value;
  const bytes = Buffer.from(encoded[1] ?? '', 'base64');
  if (bytes.toString('base64') !== encoded[1]) return undefined;
  const text = bytes.toString('utf8');
  return Buffer.from(text, 'utf8').equals(bytes) ? text : undefined;
}

/** Whether a request belongs to the sessionless revision: its `_meta` or its header says so. */
export function isSessionless(message: Message, headers: IncomingHttpHeaders): boolean {
  return modernRevision(message) !== undefined || saysSessionless(headers);
}

/** Whether the header alone says so. */
export function saysSessionless(headers: IncomingHttpHeaders): boolean {
  const header = headers['mcp-protocol-version'];
  return typeof header === 'string' && header >= SESSIONLESS_REVISION && /^\d{4}-\d{2}-\d{2}$/.test(header);
}

/**
 * What is wrong between the headers and the body of a sessionless request, undefined when they agree. A router may
 * have decided by the headers, so a party that reads the body must compare (MCP 2026-07-28, -32020).
 */
export function headerMismatch(message: Message, headers: IncomingHttpHeaders): string | undefined {
  if (message.kind === 'response') return undefined;
  if (message.kind === 'notification') return methodMismatch(message.method, headers['mcp-method']);
  const version = headers['mcp-protocol-version'];
  const revision = modernRevision(message);
  if (version === undefined) return 'The MCP-Protocol-Version header is missing.';
  if (revision !== undefined && version !== revision) {
    return `The MCP-Protocol-Version header says ${String(version)}, the body says ${revision}.`;
  }
  if (headers['mcp-method'] === undefined) return 'The Mcp-Method header is missing.';
  const otherMethod = methodMismatch(message.method, headers['mcp-method']);
  if (otherMethod !== undefined) return otherMethod;
  const parameter = NAME_PARAMETER[message.method];
  if (parameter === undefined) return undefined;
  const wanted = message.params[parameter];
  const name = headers['mcp-name'];
  if (typeof wanted !== 'string') {
    return name === undefined ? undefined : `The Mcp-Name header is sent, but params.${parameter} is no text.`;
  }
  if (typeof name !== 'string') return 'The Mcp-Name header is missing.';
  if (decodeHeader(name) !== wanted) return `The Mcp-Name header does not match params.${parameter}.`;
  return undefined;
}

function methodMismatch(method: string, header: string | string[] | undefined): string | undefined {
  return header === undefined || header === method
    ? undefined
    : `The Mcp-Method header says ${String(header)}, the body says ${method}.`;
}

/** Repeats a parameter of a tool call. */
const PARAMETER_PREFIX = 'mcp-param-';

/** What is wrong with an `Mcp-Param-*` header that repeats nothing: a router would have decided by it all the same. */
export function undeclaredParameter(
  headers: IncomingHttpHeaders,
  declared: readonly ParameterHeader[],
): string | undefined {
  for (const name in headers) {
    if (name.startsWith(PARAMETER_PREFIX) && !declared.some(({ header }) => header === name)) {
      return `The ${name} header belongs to no parameter of this request.`;
    }
  }
  return undefined;
}

/** One argument of a tool that clients repeat in an `Mcp-Param-*` header. */
export interface ParameterHeader {
  /** Lower case, with its prefix. */
  readonly header: string;
  readonly path: readonly string[];
}

/** The `x-mcp-header` annotations of an input schema, found through `properties` only, as the revision demands. */
export function parameterHeaders(inputSchema: unknown, path: readonly string[] = [], depth = 0): ParameterHeader[] {
  if (depth > 16 || typeof inputSchema !== 'object' || inputSchema === null) return [];
  const { properties } = inputSchema as { properties?: unknown };
  if (typeof properties !== 'object' || properties === null) return [];
  const found: ParameterHeader[] = [];
  for (const [key, schema] of Object.entries(properties)) {
    if (typeof schema !== 'object' || schema === null) continue;
    const name = (schema as Record<string, unknown>)['x-mcp-header'];
    if (typeof name === 'string')
      found.push({ header: `${PARAMETER_PREFIX}${name.toLowerCase()}`, path: [...path, key] });
    found.push(...parameterHeaders(schema, [...path, key], depth + 1));
  }
  return found;
}

/** The argument at a path; undefined where there is none. */
export function argumentAt(args: unknown, path: readonly string[]): unknown {
  let value = args;
  for (const key of path) value = (value as Record<string, unknown> | null | undefined)?.[key];
  return value;
}

/** What is wrong between the `Mcp-Param-*` headers and the arguments of a tools/call. */
export function parameterMismatch(
  args: unknown,
  headers: IncomingHttpHeaders,
  declared: readonly ParameterHeader[],
): string | undefined {
  for (const { header, path } of declared) {
    const value = argumentAt(args, path);
    const sent = headers[header];
    if (value === undefined || value === null) {
      if (sent !== undefined) return `The ${header} header is sent, but ${path.join('.')} is not.`;
      continue;
    }
    if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') continue;
    if (typeof sent !== 'string') return `The ${header} header is missing.`;
    const decoded = decodeHeader(sent);
    const same = typeof value === 'number' ? decoded !== '' && Number(decoded) === value : decoded === String(value);
    if (!same) return `The ${header} header does not match ${path.join('.')}.`;
  }
  return undefined;
}
