/**
 * What a call costs whose client and server speak different protocol revisions, against calls that pass as they are: p50 of one
 * client after the other, in milliseconds, and calls per second of 16 at once.
 * Usage: npm run build && node bench/bridged.ts (Linux)
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Pool } from 'undici';
import { stringify } from 'yaml';

const CALLS = 300;
const AT_ONCE = 16;
const ROUNDS = 7;
const PORT = 8969;
const NEWEST = '2026-07-28';
const SERVER_INFO = { name: 'bench', version: '1' };
const TOOLS = [{ name: 'echo', inputSchema: { type: 'object' } }];
const RESULT = { content: [{ type: 'text', text: 'done' }] };

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN;

let asked = 0;

/** A server that speaks one family of revisions, over plain JSON. */
async function startUpstream(isNewer: boolean): Promise<string> {
  const results: Record<string, object> = {
    'server/discover': { supportedVersions: [NEWEST], capabilities: { tools: {} }, _meta: {} },
    initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: SERVER_INFO },
    'tools/list': { tools: TOOLS },
    'tools/call': RESULT,
  };
  const server = createServer((req, res) => {
    asked += 1;
    void text(req).then((body) => {
      if (req.method !== 'POST') return res.writeHead(req.method === 'DELETE' ? 200 : 405).end();
      const { id, method = '' } = JSON.parse(body) as { id?: unknown; method?: string };
      if (id === undefined) return res.writeHead(202).end();
      const isSpoken = (req.headers['mcp-protocol-version'] === NEWEST) === isNewer;
      const answer = isSpoken
        ? { result: { ...(isNewer && { resultType: 'complete' }), ...results[method] } }
        : { error: { code: -32000, message: 'unsupported' } };
      const session = method === 'initialize' ? { 'mcp-session-id': 'one' } : {};
      res.writeHead(isSpoken ? 200 : 400, { 'content-type': 'application/json', ...session });
      return res.end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

const folder = mkdtempSync(join(tmpdir(), 'bench-bridged-'));
const older = await startUpstream(false);
const newer = await startUpstream(true);
const config = join(folder, 'adapter.yaml');
const server = (id: string, url: string, sessions = 'per_call') => ({
  id,
  mount_path: `/mcp/${id}`,
  upstream: { url, bridge_sessions: sessions },
  upstream_ping: { enabled: false },
});
writeFileSync(
  config,
  stringify({
    core: { host: '127.0.0.1', port: PORT, max_start_wait_seconds: 0, log_level: 'warning' },
    storage: { root: join(folder, 'shared') },
    state_persistence: { type: 'memory' },
    servers: [server('older', older), server('kept', older, 'shared'), server('newer', newer)],
  }),
);
const adapter = spawn(process.execPath, ['dist/adapter/main.js', '--config', config], { stdio: 'inherit' });
const pool = new Pool(`http://127.0.0.1:${PORT}`, { connections: AT_ONCE });

async function post(
  path: string,
  body: object,
  headers: Record<string, string>,
): Promise<{ session: string; text: string }> {
  const response = await pool.request({
    path,
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    body: JSON.stringify(body),
  });
  const said = await response.body.text();
  if (response.statusCode >= 300) throw new Error(`${path}: HTTP ${response.statusCode} ${said}`);
  return { session: String(response.headers['mcp-session-id']), text: said };
}

type Call = () => Promise<unknown>;

async function inSession(path: string): Promise<Call> {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: SERVER_INFO };
  const { session } = await post(path, { jsonrpc: '2.0', id: 1, method: 'initialize', params }, {});
  const headers = { 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' };
  await post(path, { jsonrpc: '2.0', method: 'notifications/initialized' }, headers);
  const call = { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'echo', arguments: {} } };
  return () => post(path, call, headers);
}

function withoutSession(path: string): Call {
  const headers = { 'mcp-protocol-version': NEWEST, 'mcp-method': 'tools/call', 'mcp-name': 'echo' };
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': NEWEST,
    'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/clientInfo': SERVER_INFO,
  };
  const call = { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'echo', arguments: {}, _meta } };
  return () => post(path, call, headers);
}

async function p50(call: Call): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < CALLS; i++) {
    const startedAt = performance.now();
    await call();
    times.push(performance.now() - startedAt);
  }
  return median(times);
}

async function rate(call: Call): Promise<number> {
  const startedAt = performance.now();
  const worker = async (): Promise<void> => {
    for (let i = 0; i < CALLS / 4; i++) await call();
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return (AT_ONCE * CALLS) / 4 / ((performance.now() - startedAt) / 1000);
}

try {
  for (;;) {
    const isUp = await fetch(`http://127.0.0.1:${PORT}/livez`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isUp) break;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const calls: Record<string, Call> = {
    'with sessions, as it is': await inSession('/mcp/older'),
    'with sessions, bridged': await inSession('/mcp/newer'),
    'without, as it is': withoutSession('/mcp/newer'),
    'without, bridged, per_call': withoutSession('/mcp/older'),
    'without, bridged, kept': withoutSession('/mcp/kept'),
  };
  for (const call of Object.values(calls)) await rate(call);
  const times = new Map<string, number[]>();
  const rates = new Map<string, number[]>();
  const requests = new Map<string, number>();
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, call] of Object.entries(calls)) {
      const before = asked;
      times.set(name, [...(times.get(name) ?? []), await p50(call)]);
      requests.set(name, (asked - before) / CALLS);
      rates.set(name, [...(rates.get(name) ?? []), await rate(call)]);
    }
  }
  for (const name of Object.keys(calls)) {
    const perSecond = median(rates.get(name) ?? []);
    const one = median(times.get(name) ?? []);
    const upstream = (requests.get(name) ?? NaN).toFixed(2);
    console.log(
      `${name.padEnd(28)} p50 ${one.toFixed(3)} ms  ${perSecond.toFixed(0).padStart(6)} calls/s  ${upstream} requests`,
    );
  }
} finally {
  adapter.kill();
  await pool.destroy();
  rmSync(folder, { recursive: true, force: true });
}
process.exit(0);
