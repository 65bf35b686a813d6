import { insertMember } from '../../catalog/insert-member.ts';
import { METHOD_NOT_FOUND } from '../../exchange/message.ts';
import { elements, locate, members, type Span, splice } from '../../exchange/scanning/json-scan.ts';

const SERVER_INFO = 'io.modelcontextprotocol/serverInfo';
/** Results that say how long they count (MCP 2026-07-28, caching); what an older server lists may differ with each session. */
const CACHEABLE = new Set([
  'server/discover',
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
]);
/** An older server means something else by these, or nothing. */
const OWN = new Set(['resultType', 'ttlMs', 'cacheScope']);
const NOT_FOUND = -32002;
const INVALID_PARAMS = -32602;

/** The response of an older server (JSON text) as a client without sessions reads it, and its HTTP status. */
export function newerResponse(
  text: string,
  method: string,
  serverInfo: string | undefined,
): { readonly text: string; readonly status: number } {
  const result = locate(text, ['result']);
  if (result === undefined) return newerError(text);
  if (text.charAt(result.start) !== '{') return { text, status: 200 };
  const shown = method === 'tools/list' ? withoutTaskTools(text) : text;
  return { text: withResultMembers(shown, method, serverInfo), status: 200 };
}

function withResultMembers(text: string, method: string, serverInfo: string | undefined): string {
  const result = locate(text, ['result']) as Span;
  const own = ['"resultType":"complete"'];
  if (CACHEABLE.has(method)) own.push('"ttlMs":0,"cacheScope":"private"');
  const kept: string[] = [];
  let meta: string | undefined;
  for (const { key, keyStart, start, end } of members(text, result.start)) {
    if (key === '_meta' && text.charAt(start) === '{') meta = text.slice(start, end);
    else if (!OWN.has(key)) kept.push(text.slice(keyStart, end));
  }
  const said = withServerInfo(meta, serverInfo);
  if (said !== undefined) own.push(`"_meta":${said}`);
  return splice(text, [{ ...result, with: `{${[...own, ...kept].join(',')}}` }]);
}

function withServerInfo(meta: string | undefined, serverInfo: string | undefined): string | undefined {
  if (serverInfo === undefined) return meta;
  if (meta === undefined) return `{"${SERVER_INFO}":${serverInfo}}`;
  return splice(meta, [insertMember(meta, { start: 0, end: meta.length }, SERVER_INFO, serverInfo)]);
}

function newerError(text: string): { readonly text: string; readonly status: number } {
  const span = locate(text, ['error', 'code']);
  const code = span === undefined ? undefined : Number(text.slice(span.start, span.end));
  if (code === METHOD_NOT_FOUND) return { text, status: 404 };
  if (code !== NOT_FOUND || span === undefined) return { text, status: 200 };
  return { text: splice(text, [{ ...span, with: String(INVALID_PARAMS) }]), status: 200 };
}

/** Tools that only run as tasks cannot be called. */
function withoutTaskTools(text: string): string {
  const tools = locate(text, ['result', 'tools']);
  if (tools === undefined || !text.includes('taskSupport')) return text;
  const all = Array.from(elements(text, tools.start), ({ start, end }) => text.slice(start, end));
  const kept = all.filter((tool) => {
    const support = locate(tool, ['execution', 'taskSupport']);
    return support === undefined || tool.slice(support.start, support.end) !== '"required"';
  });
  return kept.length === all.length ? text : splice(text, [{ ...tools, with: `[${kept.join(',')}]` }]);
}
