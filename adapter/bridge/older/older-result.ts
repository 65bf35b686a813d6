import { elements, locate, members, type Span, splice } from '../../exchange/scanning/json-scan.ts';
import { META } from '../../exchange/protocol-meta.ts';

/** Members of results that older revisions do not know (MCP 2026-07-28, results and caching). */
const OF_NEWER = new Set(['resultType', 'ttlMs', 'cacheScope']);
const NOT_FOUND = -32002;
const INVALID_PARAMS = -32602;
/** `x-mcp-header` is a part of a header's name (RFC 9110, section 5.6.2), on a primitive (MCP 2026-07-28, tools). */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const PRIMITIVES = new Set(['string', 'integer', 'boolean', 'number']);

/** The response of a newer server (JSON text) as an older client reads it. */
export function olderResponse(text: string, method: string): string {
  const result = locate(text, ['result']);
  if (result === undefined) return olderError(text, method);
  if (text.charAt(result.start) !== '{') return text;
  return splice(text, [{ ...result, with: olderResult(text, result, method) }]);
}

function olderResult(text: string, result: Span, method: string): string {
  const kept: string[] = [];
  for (const member of members(text, result.start)) {
    const { key, keyStart, start, end } = member;
    if (OF_NEWER.has(key)) continue;
    // Older clients' validators throw on anything else.
    if (method === 'tools/call' && key === 'structuredContent' && text.charAt(start) !== '{') continue;
    if (key === '_meta') {
      const meta = olderMeta(text, start);
      if (meta !== undefined) kept.push(`"_meta":${meta}`);
    } else if (method === 'tools/list' && key === 'tools') kept.push(`"tools":${olderTools(text, start)}`);
    else kept.push(text.slice(keyStart, end));
  }
  return `{${kept.join(',')}}`;
}

function olderMeta(text: string, at: number): string | undefined {
  const kept = Array.from(members(text, at)).filter(({ key }) => key !== META.serverInfo);
  if (kept.length === 0) return undefined;
  return `{${kept.map(({ keyStart, end }) => text.slice(keyStart, end)).join(',')}}`;
}

/** Who bridges is the client of this server, and a client must drop tools with invalid annotations. */
function olderTools(text: string, at: number): string {
  const tools = Array.from(elements(text, at), ({ start, end }) => text.slice(start, end));
  return `[${tools
    .filter((tool) => !hasInvalidHeaders(tool))
    .map(olderTool)
    .join(',')}]`;
}

function olderTool(tool: string): string {
  const schema = locate(tool, ['outputSchema']);
  if (schema === undefined) return tool;
  const type = locate(tool, ['type'], schema.start);
  if (type !== undefined && tool.slice(type.start, type.end) === '"object"') return tool;
  const kept = Array.from(members(tool)).filter(({ key }) => key !== 'outputSchema');
  return `{${kept.map(({ keyStart, end }) => tool.slice(keyStart, end)).join(',')}}`;
}

function hasInvalidHeaders(tool: string): boolean {
  if (!tool.includes('x-mcp-header')) return false;
  const schema = locate(tool, ['inputSchema']);
  if (schema === undefined) return false;
  const names = new Set<string>();
  return !areValid(JSON.parse(tool.slice(schema.start, schema.end)), true, names);
}

/** Whether all annotations below are valid. `isReachable`: only `properties` lie between the root and here. */
function areValid(schema: unknown, isReachable: boolean, names: Set<string>): boolean {
  if (typeof schema !== 'object' || schema === null) return true;
  if (Array.isArray(schema)) return schema.every((one) => areValid(one, false, names));
  const { 'x-mcp-header': name, type } = schema as Record<string, unknown>;
  if (name !== undefined) {
    if (!isReachable || typeof name !== 'string' || !HEADER_NAME.test(name)) return false;
    if (typeof type !== 'string' || !PRIMITIVES.has(type) || names.has(name.toLowerCase())) return false;
    names.add(name.toLowerCase());
  }
  return Object.entries(schema).every(([key, value]) => {
    if (key !== 'properties' || !isReachable || typeof value !== 'object' || value === null) {
      return areValid(value, false, names);
    }
    return Object.values(value).every((one) => areValid(one, true, names));
  });
}

/** That there is no such resource was a code of its own (MCP 2025-11-25, resources). */
function olderError(text: string, method: string): string {
  if (method !== 'resources/read') return text;
  const code = locate(text, ['error', 'code']);
  if (code === undefined || Number(text.slice(code.start, code.end)) !== INVALID_PARAMS) return text;
  if (locate(text, ['error', 'data', 'uri']) === undefined) return text;
  return splice(text, [{ ...code, with: String(NOT_FOUND) }]);
}
