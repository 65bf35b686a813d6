/**
 * Two built versions of the adapter, asked the same in turns of half a second: what a change costs, when that is less than a machine
 * differs from minute to minute. Prints the second one's calls per second, and processor time per call, as ratios to the first: the
 * median of all pairs of turns, and where it lies with 95 % confidence.
 * Usage: node bench/paired.ts BASE/dist/adapter/main.js dist/adapter/main.js [starts] (Linux; 5 starts)
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Pool } from 'undici';
import { stringify } from 'yaml';
import { processSeconds } from './harness/proc.ts';

const [, , base = '', head = '', starts = '5'] = process.argv;
const AT_ONCE = 16;
const TURN_MS = 500;
const TURNS = 24;
const WARM_MS = 3_000;
const NEWEST = '2026-07-28';
const CLIENT = { name: 'bench', version: '1' };

/** A server that speaks both families of revisions; the tool `stream` answers as an event stream, all else as plain JSON. */
async function startUpstream(): Promise<string> {
  const results: Record<string, object> = {
    'server/discover': { supportedVersions: [NEWEST], capabilities: { tools: {} }, _meta: {} },
    initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: CLIENT },
    'tools/list': { tools: ['echo', 'stream'].map((name) => ({ name, inputSchema: { type: 'object' } })) },
    'tools/call': { content: [{ type: 'text', text: 'done' }] },
  };
  const server = createServer((req, res) => {
    void text(req).then((body) => {
      if (req.method !== 'POST') return res.writeHead(req.method === 'DELETE' ? 200 : 405).end();
      const {
        id,
        method = '',
        params,
      } = JSON.parse(body) as { id?: unknown; method?: string; params?: { name?: string } };
      if (id === undefined) return res.writeHead(202).end();
      const session = method === 'initialize' ? { 'mcp-session-id': 'one' } : {};
      const answer = JSON.stringify({ jsonrpc: '2.0', id, result: { resultType: 'complete', ...results[method] } });
      const isStream = params?.name === 'stream';
      const type = isStream ? 'text/event-stream' : 'application/json';
      res.writeHead(200, { 'content-type': type, ...session });
      return res.end(isStream ? `event: message\ndata: ${answer}\n\n` : answer);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

/** A version of the adapter that runs. */
class Version implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #pool: Pool;
  readonly #folder = mkdtempSync(join(tmpdir(), 'bench-paired-'));

  constructor(main: string, port: number, upstream: string) {
    const config = join(this.#folder, 'adapter.yaml');
    const server = { id: 'up', mount_path: '/mcp/up', upstream: { url: upstream }, upstream_ping: { enabled: false } };
    const core = { host: '127.0.0.1', port, max_start_wait_seconds: 0, log_level: 'error' };
    const storage = { root: join(this.#folder, 'shared') };
    writeFileSync(config, stringify({ core, storage, state_persistence: { type: 'memory' }, servers: [server] }));
    this.#child = spawn('taskset', ['-c', '1', process.execPath, main, '--config', config], { stdio: 'inherit' });
    this.#pool = new Pool(`http://127.0.0.1:${port}`, { connections: AT_ONCE });
  }

  async post(body: object, headers: Record<string, string>): Promise<string> {
    const response = await this.#pool.request({
      path: '/mcp/up',
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', ...body }),
    });
    const said = await response.body.text();
    if (response.statusCode >= 300) throw new Error(`HTTP ${response.statusCode} ${said}`);
    return String(response.headers['mcp-session-id']);
  }

  async ready(): Promise<void> {
    for (;;) {
      const up = await this.#pool.request({ path: '/livez', method: 'GET' }).catch(() => undefined);
      await up?.body.dump();
      if (up?.statusCode === 200) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Calls per second, and microseconds of its processor for each. */
  async turn(call: (version: Version) => Promise<unknown>, ms: number): Promise<[rate: number, cpu: number]> {
    const stat = (): number => processSeconds(readFileSync(`/proc/${this.#child.pid}/stat`, 'utf8'));
    const [startedAt, usedBefore] = [performance.now(), stat()];
    let calls = 0;
    const worker = async (): Promise<void> => {
      for (; performance.now() - startedAt < ms; calls++) await call(this);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    const seconds = (performance.now() - startedAt) / 1000;
    return [calls / seconds, ((stat() - usedBefore) / calls) * 1e6];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const gone = once(this.#child, 'exit');
    await this.#pool.destroy();
    this.#child.kill();
    await gone;
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

const CALL = { id: 2, method: 'tools/call' };
const META = {
  'io.modelcontextprotocol/protocolVersion': NEWEST,
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': CLIENT,
};

async function inSession(version: Version, name: string): Promise<(version: Version) => Promise<unknown>> {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: CLIENT };
  const session = await version.post({ id: 1, method: 'initialize', params }, {});
  const headers = { 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' };
  await version.post({ method: 'notifications/initialized' }, headers);
  return (one) => one.post({ ...CALL, params: { name, arguments: {} } }, headers);
}

async function withoutSession(_: Version, name: string): Promise<(version: Version) => Promise<unknown>> {
  const headers = { 'mcp-protocol-version': NEWEST, 'mcp-method': 'tools/call', 'mcp-name': name };
  const call = { ...CALL, params: { name, arguments: {}, _meta: META } };
  return (one) => one.post(call, headers);
}

const KINDS = {
  'in a session': [inSession, 'echo'],
  'the same, streamed': [inSession, 'stream'],
  'without sessions': [withoutSession, 'echo'],
} as const;

/** The median of ratios, and its interval of 95 % by the ranks of a binomial distribution. */
function shown(ratios: readonly number[]): string {
  const sorted = ratios.toSorted((a, b) => a - b);
  const { length } = sorted;
  const off = Math.ceil(0.98 * Math.sqrt(length));
  const at = (index: number): string => (sorted[Math.max(0, Math.min(length - 1, index))] ?? NaN).toFixed(3);
  return `${at(length >> 1)} (${at((length >> 1) - off)} to ${at((length >> 1) + off)})`;
}

if (base === '' || head === '') {
  console.error('Usage: node bench/paired.ts BASE/dist/adapter/main.js HEAD/dist/adapter/main.js [starts]');
  process.exit(2);
}
const upstream = await startUpstream();
const rates = new Map<string, number[]>();
const cpus = new Map<string, number[]>();
for (let start = 0; start < Number(starts); start++) {
  // Who is first is first in memory too.
  const order = start % 2 === 0 ? [base, head] : [head, base];
  await using first = new Version(order[0] ?? '', 8971, upstream);
  await using second = new Version(order[1] ?? '', 8972, upstream);
  const [before, after] = start % 2 === 0 ? [first, second] : [second, first];
  await Promise.all([first.ready(), second.ready()]);
  for (const [name, [open, tool]] of Object.entries(KINDS)) {
    const [ofBefore, ofAfter] = [await open(before, tool), await open(after, tool)];
    await before.turn(ofBefore, WARM_MS);
    await after.turn(ofAfter, WARM_MS);
    const [cpuBefore, cpuAfter] = [[] as number[], [] as number[]];
    for (let turn = 0; turn < TURNS; turn++) {
      const took = async (isAfter: boolean): Promise<[number, number]> =>
        isAfter ? after.turn(ofAfter, TURN_MS) : before.turn(ofBefore, TURN_MS);
      const isSwapped = turn % 2 === 1;
      const one = await took(isSwapped);
      const other = await took(!isSwapped);
      const [[rateBefore, usedBefore], [rateAfter, usedAfter]] = isSwapped ? [other, one] : [one, other];
      rates.set(name, [...(rates.get(name) ?? []), rateAfter / rateBefore]);
      cpuBefore.push(usedBefore);
      cpuAfter.push(usedAfter);
    }
    const pairs = cpuAfter.map((used, index) => used / (cpuBefore[index] ?? NaN));
    cpus.set(name, [...(cpus.get(name) ?? []), ...pairs]);
  }
}
for (const name of rates.keys()) {
  console.log(`${name.padEnd(18)} rate ${shown(rates.get(name) ?? [])}  CPU ${shown(cpus.get(name) ?? [])}`);
}
process.exit(0);
