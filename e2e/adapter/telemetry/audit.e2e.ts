import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rename, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type RunningAdapter, startAdapter } from '../../support/adapter-process.ts';
import type { JsonObject } from '../../support/scripted-upstream/json-rpc.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../../support/scripted-upstream/scripted-upstream.ts';
import { searchFile } from '../../support/secrets/search.ts';
import { secret } from '../../support/secrets/secret.ts';
import { valueOf } from '../code-mode/kit/code.ts';
import { mounted } from '../kit/deployment.ts';
import { eventually } from '../kit/eventually.ts';
import { drain, openSession, textOf } from '../kit/session.ts';

const TOKEN = secret('token of the clients');
const HEADERS = { 'x-mcp-adapter-auth-token': TOKEN };
/** What no line may hold. */
const ARGUMENT = secret('argument of a call');

const HMAC = expect.stringMatching(/^[0-9a-f]{64}$/);
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

let folder: string;
let path: string;
let upstream: ScriptedUpstream;
const open: AsyncDisposable[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'audit-'));
  path = join(folder, 'audit.jsonl');
  upstream = await startScriptedUpstream();
  upstream.tools.set('fails', {
    definition: { description: 'Fails', inputSchema: { type: 'object' } },
    call: () => ({ content: [{ type: 'text', text: 'no' }], isError: true }),
  });
});
afterEach(async () => {
  for (const one of open.splice(0)) await one[Symbol.asyncDispose]();
  await upstream.close();
  await searchFile('an audit log', path);
  await rm(folder, { recursive: true, force: true });
});

async function start(auditLog: JsonObject): Promise<RunningAdapter> {
  const adapter = await startAdapter({
    config: {
      core: {
        log_level: 'info',
        max_start_wait_seconds: 0,
        shutdown_grace_seconds: 0,
        upstream_ping: { enabled: false },
        auth: { enabled: true, token: TOKEN },
      },
      state_persistence: { type: 'memory' },
      servers: [
        mounted('up', upstream.url, { disabled_tools: ['big'] }),
        mounted('code', upstream.url, { code_mode_enabled: true }),
      ],
      telemetry: { audit_log: { enabled: true, ...auditLog } },
    },
  });
  open.push(adapter);
  return adapter;
}

const linesIn = (text: string): JsonObject[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('{"audit"'))
    .map((line) => JSON.parse(line) as JsonObject);
const written = async (file = path): Promise<JsonObject[]> => linesIn(await readFile(file, 'utf8').catch(() => ''));

test('every call of a tool is a line, whichever way it came', async () => {
  const adapter = await start({ path });
  const session = await openSession(adapter, { headers: HEADERS, protocolVersion: '2025-03-26' });
  const door = session.at(adapter);
  const call = (id: number, name: string, args: string): string =>
    `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${name}","arguments":${args}}}`;
  const spaced = `{ "${ARGUMENT}" : 1.0 }`;
  const alone = await door.send(call(1, 'echo', spaced));
  const answer = await alone.text();
  await door.tool('fails', { a: 1 });
  await door.tool('big', {});
  await drain(door.send(`[${call(10, 'echo', '{"b":1}')}, ${call(11, 'fails', '{"b":2}')}]`));
  const coder = await openSession(adapter, { headers: HEADERS, path: '/mcp/code' });
  expect(await valueOf(coder.at(adapter), `return (await call_tool('echo', { c: 1 })).text;`, 'code')).toEqual({
    c: 1,
  });
  // None of these is a call of a tool.
  await door.call('tools/list');
  await drain(door.send(call(12, 'echo', '{}'), { headers: { 'x-mcp-adapter-auth-token': 'wrong' } }));

  await eventually(async () => (await written()).length).toBe(7);
  const lines = await written();
  const find = (tool: string, place = 0): JsonObject => lines.filter((line) => line.tool === tool)[place] ?? {};
  expect(find('echo')).toEqual({
    audit: 'tool_call',
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    request_id: alone.headers.get('x-request-id'),
    caller: 'token:default',
    principal: expect.stringMatching(/^[\w-]{16}$/),
    server: 'up',
    session: session.sessionId.slice(0, 8),
    tool: 'echo',
    outcome: 'ok',
    is_error: false,
    bytes_in: Buffer.byteLength(call(1, 'echo', spaced)),
    bytes_out: expect.any(Number),
    duration_ms: expect.any(Number),
    arguments_hmac: HMAC,
  });
  expect(Number(find('echo').bytes_out)).toBeGreaterThanOrEqual(answer.length);
  expect(find('fails')).toMatchObject({ is_error: true, arguments_hmac: HMAC });
  expect(find('big')).toMatchObject({ outcome: 'unknown_tool', is_error: true });
  expect(find('echo', 1)).toMatchObject({ is_error: false, arguments_hmac: HMAC });
  expect(find('fails', 1)).toMatchObject({ is_error: true, arguments_hmac: HMAC });
  const execute = find('code_execute');
  expect(execute).toMatchObject({ server: 'code', outcome: 'answered', is_error: false });
  expect(find('echo', 2)).toMatchObject({
    server: 'code',
    parent_request_id: execute.request_id,
    is_error: false,
    arguments_hmac: HMAC,
  });
  expect(new Set(lines.map(({ principal }) => principal)).size).toBe(1);
  // T25: whoever guesses what the arguments may have been finds nothing.
  const hashes = lines.flatMap(({ arguments_hmac: one }) => one ?? []);
  for (const guess of [spaced, '{"a":1}', '{"b":1}', '{"b":2}', '{"c":1}']) expect(hashes).not.toContain(sha256(guess));
  expect(find('echo', 1).arguments_hmac).not.toBe(find('fails', 1).arguments_hmac);
  const text = await readFile(path, 'utf8');
  for (const never of [ARGUMENT, TOKEN, session.sessionId, coder.sessionId]) expect(text).not.toContain(never);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});

test('a rotated file is left alone after SIGHUP', async () => {
  const adapter = await start({ path });
  const door = (await openSession(adapter, { headers: HEADERS })).at(adapter);
  await door.tool('echo', { n: 1 });
  await eventually(async () => (await written()).length).toBe(1);
  await rename(path, `${path}.1`);
  adapter.kill('SIGHUP');
  await eventually(async () => (await stat(path).catch(() => undefined))?.size).toBe(0);
  await door.tool('echo', { n: 2 });
  await eventually(async () => (await written()).length).toBe(1);
  expect(await written(`${path}.1`)).toHaveLength(1);
  await adapter.stop();
  expect(adapter.hasExited()).toBe(true);
});

test('the last lines are written before the program ends', async () => {
  const adapter = await start({ path });
  const door = (await openSession(adapter, { headers: HEADERS })).at(adapter);
  await Promise.all(Array.from({ length: 50 }, (_, n) => door.tool('echo', { n })));
  await adapter.stop();
  expect(await written()).toHaveLength(50);
});

test('a file that cannot be written keeps nobody from calling tools', async () => {
  const adapter = await start({ path: join(folder, 'nowhere', 'audit.jsonl') });
  const door = (await openSession(adapter, { headers: HEADERS })).at(adapter);
  for (let n = 0; n < 5; n++) expect(textOf(await door.tool('echo', { n }))).toBe(`{"n":${n}}`);
  const said = (): unknown[] => adapter.logs().filter(({ msg }) => String(msg).includes('audit log cannot be written'));
  await eventually(said).toHaveLength(1);
  await adapter.stop();
  expect(said()).toHaveLength(1);
});

test('without a path the lines go to standard output, between those of the log', async () => {
  const adapter = await start({});
  const door = (await openSession(adapter, { headers: HEADERS })).at(adapter);
  await door.tool('echo', { [ARGUMENT]: 1 });
  await eventually(() => linesIn(adapter.stdout())).toMatchObject([{ tool: 'echo', is_error: false }]);
  expect(adapter.logs().some(({ msg }) => msg === 'request')).toBe(true);
});
