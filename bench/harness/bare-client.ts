import type { Pool } from 'undici';
import { INFO, NEWEST, OLDER } from './bare-server.ts';

/** A request that is made again and again. */
export interface Asked {
  readonly body: object;
  readonly headers: Readonly<Record<string, string>>;
}

/** Returns the id of the session that has been opened. Fails on an error of HTTP. */
export async function post(pool: Pool, path: string, { body, headers }: Asked): Promise<string> {
  const response = await pool.request({
    path,
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', ...body }),
  });
  const said = await response.body.text();
  if (response.statusCode >= 300) throw new Error(`${path}: HTTP ${response.statusCode} ${said}`);
  return String(response.headers['mcp-session-id']);
}

/** Opens a session, and gives a call of a tool in it. */
export async function callInSession(pool: Pool, path: string, name: string): Promise<Asked> {
  const params = { protocolVersion: OLDER, capabilities: {}, clientInfo: INFO };
  const session = await post(pool, path, { body: { id: 1, method: 'initialize', params }, headers: {} });
  const headers = { 'mcp-session-id': session, 'mcp-protocol-version': OLDER };
  await post(pool, path, { body: { method: 'notifications/initialized' }, headers });
  return { body: { id: 2, method: 'tools/call', params: { name, arguments: {} } }, headers };
}

/** A call of the revision without sessions. */
export function callWithoutSession(name: string): Asked {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': NEWEST,
    'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/clientInfo': INFO,
  };
  const headers = { 'mcp-protocol-version': NEWEST, 'mcp-method': 'tools/call', 'mcp-name': name };
  return { body: { id: 2, method: 'tools/call', params: { name, arguments: {}, _meta } }, headers };
}

/** Waits until an adapter answers at `/livez`. */
export async function untilUp(pool: Pool): Promise<void> {
  for (;;) {
    const up = await pool.request({ path: '/livez', method: 'GET' }).catch(() => undefined);
    await up?.body.dump();
    if (up?.statusCode === 200) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
