/*
 * Values of attributes that come from outside are bounded here: whatever clients and upstreams send, metrics have no more
 * series than the configuration makes.
 */

/** Stands for all values that are not known. */
export const OTHER = '_OTHER';
/** `server_id` of what belongs to no server. */
export const GLOBAL = 'global';
/** `server_id` of a name that is no configured server's. */
const UNKNOWN = 'unknown';
/** Route of a request for which there is none. */
export const UNMATCHED = 'unmatched';

/** Those of RFC 9110, and PATCH. */
const HTTP_METHODS = new Set(['GET', 'POST', 'DELETE', 'HEAD', 'OPTIONS', 'PUT', 'PATCH', 'CONNECT', 'TRACE']);

/** Methods of messages that clients send, of all revisions. */
const RPC_METHODS = new Set([
  'completion/complete',
  'initialize',
  'logging/setLevel',
  'notifications/cancelled',
  'notifications/initialized',
  'notifications/progress',
  'notifications/roots/list_changed',
  'notifications/tasks/status',
  'ping',
  'prompts/get',
  'prompts/list',
  'resources/list',
  'resources/read',
  'resources/subscribe',
  'resources/templates/list',
  'resources/unsubscribe',
  'server/discover',
  'subscriptions/listen',
  'tasks/cancel',
  'tasks/get',
  'tasks/list',
  'tasks/result',
  'tasks/update',
  'tools/call',
  'tools/list',
]);

const REVISIONS = new Set(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28']);

/** JSON-RPC's own codes, and those that MCP has given a meaning. */
const RPC_CODES = new Set([
  -32700, -32600, -32601, -32602, -32603, -32000, -32001, -32002, -32020, -32021, -32022, -32042, -32800,
]);

export function httpMethodLabel(method: string): string {
  return HTTP_METHODS.has(method) ? method : OTHER;
}

/** Undefined for a request that is no message. */
export function rpcMethodLabel(method: string | undefined): string | undefined {
  return method === undefined || RPC_METHODS.has(method) ? method : OTHER;
}

export function protocolVersionLabel(revision: string | undefined): string | undefined {
  return revision === undefined || REVISIONS.has(revision) ? revision : OTHER;
}

/** As text, for an attribute of texts. */
export function rpcCodeLabel(code: number): string {
  return RPC_CODES.has(code) || isHttpStatus(code) ? String(code) : OTHER;
}

/** `2xx` and so on; a status is one of three digits that this program, or an upstream's parser, has let through. */
export function statusClass(status: number): string {
  return `${Math.floor(status / 100)}xx`;
}

export function serverLabel(configured: { has(serverId: string): boolean }, serverId: string | undefined): string {
  if (serverId === undefined) return GLOBAL;
  return configured.has(serverId) ? serverId : UNKNOWN;
}

/** Errors of the adapter's own carry HTTP statuses as codes. */
function isHttpStatus(code: number): boolean {
  return code === 401 || code === 403 || code === 404 || code === 409 || code === 429 || (code >= 500 && code <= 504);
}
