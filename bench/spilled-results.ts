/**
 * What it costs that results may be too long: CPU time of a call whose result is not, and calls per second whose result of
 * 100 KB becomes an artifact, against those of a tool that writes a file of the same size.
 * Usage: npm run build && node bench/spilled-results.ts (Linux, two cores, taskset)
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { stringify } from 'yaml';

import { ReplyMessage } from '../adapter/path/reply-message.ts';
import type { ResultSpilling } from '../adapter/spill/result-spilling.ts';
import { MemoryStore } from '../adapter/state/memory/memory-store.ts';
import { SpilledResults } from '../adapter/steps/spilled-results.ts';
import { RecordingReply, sampleOperation } from '../adapter/steps/testing/step-scene.ts';

const ROUNDS = 5;
const CALLS = 200_000;
const SECONDS = 3;
const CONNECTIONS = 8;
const LONG = 'x'.repeat(100_000);

/** Microseconds of CPU for each call of `work`. */
function cost(calls: number, work: () => void): number {
  const before = process.cpuUsage();
  for (let i = 0; i < calls; i++) work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / calls;
}

/** A call of a tool with a short result, through the step and past it. */
function shortResults(): { readonly without: number; readonly with: number } {
  const settings = { overChars: 40_000, previewChars: 2000, dropsStructured: false };
  const unused = (): never => {
    throw new Error('the result is not too long');
  };
  const spilling = { settingsOf: () => settings, spill: { of: unused } } as unknown as ResultSpilling;
  const step = new SpilledResults(spilling, { listing: unused }, { open: unused }, new MemoryStore());
  const operation = sampleOperation({ id: 1, method: 'tools/call', params: { name: 'short' } });
  const body = [
    Buffer.from(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"${'y'.repeat(500)}"}]}}`),
  ];
  const reply = Object.assign(new RecordingReply(), { message: () => undefined, end: () => undefined });
  const answer = (to: Pick<RecordingReply, 'message' | 'end'>): void => {
    to.message(new ReplyMessage('response', body));
    to.end({ outcome: 'ok' });
  };
  return {
    without: cost(CALLS, () => answer(reply)),
    with: cost(CALLS, () => void step.send(operation, reply, (_operation, behind) => answer(behind as never))),
  };
}

async function startUpstream(): Promise<{ readonly url: string; close(): void }> {
  const long = JSON.stringify({ content: [{ type: 'text', text: LONG }] });
  const server = createServer((req, res) => {
    void text(req).then(async (body) => {
      const { id, method, params } = JSON.parse(body === '' ? '{}' : body) as Record<string, never>;
      if (req.method !== 'POST' || id === undefined) return res.writeHead(req.method === 'POST' ? 202 : 405).end();
      const { name, arguments: args } = (params ?? {}) as { name?: string; arguments?: { path: string } };
      let result = '{}';
      if (method === 'initialize') {
        const serverInfo = { name: 'bench', version: '1' };
        result = JSON.stringify({ protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo });
      } else if (method === 'tools/list') {
        result = JSON.stringify({
          tools: ['long', 'file'].map((one) => ({ name: one, inputSchema: { type: 'object' } })),
        });
      } else if (name === 'long') result = long;
      else if (name === 'file') {
        await writeFile(args?.path ?? '', LONG);
        result = '{"content":[{"type":"text","text":"written"}]}';
      }
      res.writeHead(200, { 'content-type': 'application/json' });
      return res.end(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, close: () => server.close() };
}

async function startAdapter(
  folder: string,
  upstream: string,
): Promise<{ readonly child: ChildProcess; readonly url: string }> {
  const config = {
    core: {
      host: '127.0.0.1',
      port: 0,
      log_level: 'info',
      max_start_wait_seconds: 0,
      results: { spill_over_chars: 40_000 },
    },
    storage: { root: join(folder, 'files') },
    artifacts: { ttl_seconds: 5 },
    servers: [
      {
        id: 'bench',
        mount_path: '/mcp',
        upstream: { url: upstream },
        adapters: [{ type: 'artifact_producer', tools: ['file'], output_path_argument: 'path' }],
      },
    ],
  };
  const file = join(folder, 'config.yaml');
  writeFileSync(file, stringify(config).replace('port: 0', `port: ${20_000 + (process.pid % 10_000)}`));
  const child = spawn('taskset', ['-c', '0', process.execPath, 'dist/adapter/main.js', '--config', file], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
    const found = /"msg":"listening","url":"(http:[^"]*)"/.exec(String(chunk));
    if (found?.[1] !== undefined) {
      child.stdout?.resume();
      return { child, url: `${found[1]}/mcp` };
    }
  }
  throw new Error('the adapter did not start');
}

async function openSession(url: string): Promise<(name: string) => Promise<void>> {
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  };
  const post = async (message: object): Promise<Response> =>
    fetch(url, { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', ...message }) });
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'bench', version: '1' } };
  const opened = await post({ id: 0, method: 'initialize', params });
  await opened.text();
  headers['mcp-session-id'] = opened.headers.get('mcp-session-id') ?? '';
  await (await post({ method: 'notifications/initialized' })).text();
  return async (name) => {
    const answer = await (await post({ id: 1, method: 'tools/call', params: { name, arguments: {} } })).text();
    if (!answer.includes('"artifact_uri"')) throw new Error(answer.slice(0, 300));
  };
}

async function callsPerSecond(url: string, name: string): Promise<number> {
  const calls = await Promise.all(Array.from({ length: CONNECTIONS }, () => openSession(url)));
  const end = performance.now() + SECONDS * 1000;
  let count = 0;
  await Promise.all(
    calls.map(async (call) => {
      // oxlint-disable-next-line no-await-in-loop -- a connection makes one call after another
      for (; performance.now() < end; count++) await call(name);
    }),
  );
  return count / SECONDS;
}

const folder = mkdtempSync(join(tmpdir(), 'bench-spill-'));
const upstream = await startUpstream();
const { child, url } = await startAdapter(folder, upstream.url);
try {
  for (const name of ['long', 'file']) await callsPerSecond(url, name);
  for (let round = 0; round < ROUNDS; round++) {
    const short = shortResults();
    const [file, long] = [await callsPerSecond(url, 'file'), await callsPerSecond(url, 'long')];
    process.stdout.write(
      `short result: ${(short.with - short.without).toFixed(2)} µs more; 100 KB: ${long.toFixed(0)} spilled/s, ` +
        `${file.toFixed(0)} artifacts/s, ratio ${(long / file).toFixed(2)}\n`,
    );
  }
} finally {
  child.kill();
  upstream.close();
  rmSync(folder, { recursive: true, force: true });
}
