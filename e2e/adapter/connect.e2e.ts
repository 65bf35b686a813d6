import { afterEach, beforeEach, expect, test } from 'vitest';
import { parse } from 'yaml';

import { runAdapter } from '../support/adapter-process.ts';
import { type RawHandler, startRawUpstream } from '../support/raw-upstream.ts';
import { asObject, type JsonObject } from '../support/scripted-upstream/json-rpc.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream/scripted-upstream.ts';
import { startSseUpstream } from './kit/sse-upstream.ts';

const KEY = 'key-of-the-upstreams';
const env = { KEY };
const REFUSED = 'http://127.0.0.1:1/mcp';
/** Longer than what is told of a refusal, so that the key is where it is cut. */
const LONG_WORDS = `${'No entry. '.repeat(19)}${KEY}`;

let upstream: ScriptedUpstream;
beforeEach(async () => {
  upstream = await startScriptedUpstream({ pageSize: 1 });
  upstream.tools.clear();
  const inputSchema = { type: 'object', properties: { path: { type: 'string' } } };
  for (const name of ['read_report', 'add_section']) {
    upstream.tools.set(name, { definition: { inputSchema }, call: () => ({ content: [] }) });
  }
  upstream.behavior.intercept = ({ headers }) =>
    headers['x-key'] === KEY ? undefined : { status: 401, body: LONG_WORDS };
});
afterEach(() => upstream?.close());

const server = (id: string, url: string, more: JsonObject = {}): JsonObject => ({
  id,
  mount_path: `/${id}`,
  upstream: { url, static_headers: { 'X-Key': '${KEY}' } },
  ...more,
});
const FITS = [{ type: 'files', tools: ['read_report', 'add_section'], arguments: { path: 'edit' } }];

async function check(servers: readonly JsonObject[], ...args: string[]) {
  const ended = await runAdapter({ config: { servers }, env, args: ['--check-config', ...args] });
  expect(ended.stdout + ended.stderr).not.toContain(KEY);
  return { ...ended, lines: ended.stdout.split('\n').slice(1, -1), told: ended.stderr.split('\n').slice(0, -1) };
}

test('where all is well there is one line for each server, and nothing is called', async () => {
  await using sse = await startSseUpstream();
  await using modern = await startRawUpstream(sessionless({ name: 'one' }));
  const { code, lines, stderr, stdout } = await check(
    [
      server('up', upstream.url, { adapters: FITS }),
      server('old', sse.url, { upstream: { url: sse.url, transport: 'sse' } }),
      server('new', `${modern.url}/mcp`),
    ],
    '--connect',
  );
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/^\S+: valid: 3 servers \(up, old, new\), state in \w+\n/);
  expect(lines).toEqual([
    'up: reached, revision 2025-11-25, 2 tools',
    `old: reached, revision 2024-11-05, ${sse.tools.size} tools`,
    'new: reached, revision 2026-07-28, 1 tool',
  ]);
  expect(upstream.requestsOf('tools/call')).toEqual([]);
  expect([upstream.sessions.size, upstream.requests.filter(({ method }) => method === 'DELETE').length]).toEqual([
    0, 1,
  ]);
});

test('entries that do not fit are told with their place, and the exit code is 1', async () => {
  const adapters = [
    { type: 'files', tools: ['read_report', 'raed_report'], arguments: { path: 'in', pth: 'in' } },
    ...FITS,
  ];
  const { code, lines, told } = await check(
    [server('gone', REFUSED), server('up', upstream.url, { adapters, disabled_tools: ['none'] })],
    '--connect',
  );
  expect(lines).toEqual([
    'gone: not reached: connect ECONNREFUSED 127.0.0.1:1',
    'up: reached, revision 2025-11-25, 2 tools',
  ]);
  expect(told.map((line) => line.replace(/^\S+config\.yaml: /, ''))).toEqual([
    'warning: servers[1].disabled_tools[0] hides nothing: no tool of the server fits "none"',
    'servers[1].adapters[0]: the server has no tool "raed_report"',
    'servers[1].adapters[0]: the tool read_report has no argument "pth"',
  ]);
  expect(code).toBe(1);
});

test('warnings alone count with --strict only, and files without an entry never', async () => {
  const servers = [server('up', upstream.url, { disabled_tools: ['none'] })];
  const lax = await check(servers, '--connect');
  expect([lax.code, lax.told.length]).toEqual([0, 1]);
  expect(lax.lines).toEqual([
    'up: reached, revision 2025-11-25, 2 tools',
    '  look like files, and no entry of adapters has them: read_report path, add_section path',
  ]);
  expect((await check(servers, '--connect', '--strict')).code).toBe(1);
  expect((await check([server('up', upstream.url)], '--connect', '--strict')).code).toBe(0);
});

test('a server that does not say which tools it has: exit code 3, and the reason without secrets', async () => {
  await using broken = await startRawUpstream((_request, res) => void res.writeHead(500).end());
  await using sse = await startSseUpstream();
  await using silent = await startRawUpstream(() => undefined);
  const soon = { upstream_ping: { timeout_seconds: 0.5 } };
  const { code, lines, stderr } = await check(
    [
      server('up', upstream.url, { adapters: FITS }),
      server('key', upstream.url, { upstream: { url: upstream.url, static_headers: { 'X-Keys': '${KEY}' } } }),
      server('client', upstream.url, {
        upstream: { url: upstream.url, client_headers: { passthrough: ['Authorization'], unsafe: true } },
      }),
      server('broken', `${broken.url}/mcp`),
      server('older', sse.url),
      server('silent', `${silent.url}/mcp`, soon),
    ],
    '--connect',
  );
  expect([code, stderr]).toEqual([3, '']);
  expect(lines).toEqual([
    'up: reached, revision 2025-11-25, 2 tools',
    expect.stringMatching(
      /^key: refused: The upstream server refused the adapter's credentials \(HTTP 401\): "No entry\. .*<redac.*Sent: X-Keys\.$/,
    ),
    'client: refused (HTTP 401): it wants the credentials of clients, which are not there now',
    'broken: reached, but no MCP server: initialize was answered with HTTP 500',
    'older: reached, but no MCP server: initialize was answered with HTTP 404; it answers like the older transport: set ' +
      'upstream.transport to sse',
    'silent: not reached: no answer to server/discover within 0.5 s',
  ]);
});

test('what a hostile server says stays on its line, and short', async () => {
  const name = `read_x\u001B[2J\u202E\n${'y'.repeat(100_000)}`;
  const inputSchema = { type: 'object', properties: { path: { type: 'string' } } };
  await using hostile = await startRawUpstream(sessionless({ name, inputSchema }));
  const adapters = [{ type: 'files', tools: ['read_*'], arguments: { other: 'in' } }];
  const { code, stdout, stderr } = await check([server('up', `${hostile.url}/mcp`, { adapters })], '--connect');
  expect(code).toBe(1);
  expect(stderr).toContain(String.raw`the tool read_x\u{1b}[2J\u{202e}\u{a}yyy`);
  for (const output of [stdout, stderr]) {
    for (const unseen of ['\u001B', '\u202E']) expect(output).not.toContain(unseen);
    for (const line of output.split('\n')) expect(line.length).toBeLessThan(700);
  }
});

test('with --print the output is the effective file alone; without --connect nobody is asked', async () => {
  const servers = [server('up', upstream.url, { adapters: FITS }), server('gone', REFUSED)];
  const quiet = await check(servers, '--print');
  expect([quiet.code, quiet.stderr, upstream.requests]).toEqual([0, '', []]);
  const { code, stdout, told } = await check(servers, '--print', '--connect');
  expect(code).toBe(3);
  expect(asObject(parse(stdout)).servers).toEqual(asObject(parse(quiet.stdout)).servers);
  expect(told).toEqual([
    'up: reached, revision 2025-11-25, 2 tools',
    'gone: not reached: connect ECONNREFUSED 127.0.0.1:1',
  ]);
});

/** A server of the sessionless revision with one tool. */
function sessionless(tool: JsonObject): RawHandler {
  return ({ json }, res) => {
    const { id, method } = asObject(json);
    const result =
      method === 'server/discover'
        ? { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }
        : { tools: [{ inputSchema: { type: 'object' }, ...tool }] };
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  };
}
