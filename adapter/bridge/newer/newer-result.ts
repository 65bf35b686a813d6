import { insertMember } from '../../catalog/insert-member.ts';
import { METHOD_NOT_FOUND, type Request } from '../../exchange/message.ts';
import { elements, locate, members, type Span, splice } from '../../exchange/scanning/json-scan.ts';
import { withId, withNewId } from '../wire/responses.ts';
import { META } from '../../exchange/protocol-meta.ts';

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

/** The response of an older server (JSON text) to a request as a client without sessions reads it, and its HTTP status. */
export function newerResponse(
  text: string,
  { method, idText }: Pick<Request, 'method' | 'idText'>,
  serverInfo: string | undefined,
): { readonly text: string; readonly status: number } {
  let id: Span | undefined;
  let result: Span | undefined;
  for (const member of members(text)) {
    if (member.key === 'id') id = member;
    else if (member.key === 'result') result = member;
  }
  if (result === undefined) return newerError(withId(text, idText));
  const edits: (Span & { with: string })[] = [];
  if (text.charAt(result.start) === '{') {
    const listed = method === 'tools/list' ? withoutTaskTools(text, result) : undefined;
    edits.push({ ...result, with: resultMembers(text, result, method, serverInfo, listed) });
  }
  if (id === undefined) return { text: withNewId(splice(text, edits), idText), status: 200 };
  const ofId = { ...id, with: idText };
  if (id.start < result.start) edits.unshift(ofId);
  else edits.push(ofId);
  return { text: splice(text, edits), status: 200 };
}

/** @param listed JSON text in place of its `tools`; undefined: they stay */
function resultMembers(
  text: string,
  result: Span,
  method: string,
  serverInfo: string | undefined,
  listed: string | undefined,
): string {
  const own = ['"resultType":"complete"'];
  if (CACHEABLE.has(method)) own.push('"ttlMs":0,"cacheScope":"private"');
  const kept: string[] = [];
  let meta: string | undefined;
  for (const { key, keyStart, start, end } of members(text, result.start)) {
    if (key === '_meta' && text.charAt(start) === '{') meta = text.slice(start, end);
    else if (key === 'tools' && listed !== undefined) kept.push(`"tools":${listed}`);
    else if (!OWN.has(key)) kept.push(text.slice(keyStart, end));
  }
  const said = withServerInfo(meta, serverInfo);
  if (said !== undefined) own.push(`"_meta":${said}`);
  return `{${[...own, ...kept].join(',')}}`;
}

function withServerInfo(meta: string | undefined, serverInfo: string | undefined): string | undefined {
  if (serverInfo === undefined) return meta;
  if (meta === undefined) return `{"${META.serverInfo}":${serverInfo}}`;
  return splice(meta, [insertMember(meta, { start: 0, end: meta.length }, META.serverInfo, serverInfo)]);
}

function newerError(text: string): { readonly text: string; readonly status: number } {
  const span = locate(text, ['error', 'code']);
  const code = span === undefined ? undefined : Number(text.slice(span.start, span.end));
  if (code === METHOD_NOT_FOUND) return { text, status: 404 };
  if (code !== NOT_FOUND || span === undefined) return { text, status: 200 };
  return { text: splice(text, [{ ...span, with: String(INVALID_PARAMS) }]), status: 200 };
}

/** Tools that only run as tasks cannot be called. Undefined: there are none. */
function withoutTaskTools(text: string, result: Span): string | undefined {
  if (!text.includes('taskSupport')) return undefined;
  const tools = locate(text, ['tools'], result.start);
  if (tools === undefined) return undefined;
  const all = Array.from(elements(text, tools.start), ({ start, end }) => text.slice(start, end));
  const kept = all.filter((tool) => {
    const support = locate(tool, ['execution', 'taskSupport']);
    return support === undefined || tool.slice(support.start, support.end) !== '"required"';
  });
  return kept.length === all.length ? undefined : `[${kept.join(',')}]`;
}
