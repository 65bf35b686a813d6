import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { openRawClient, type RawClient } from '../support/raw-client.ts';
import { HOSTILE_SSE_TOOLS } from './hostile-sse.ts';
import { ENDLESS, HOSTILE_TOOLS, wordsOf } from './hostile-upstream.ts';

const MIB = 1 << 20;
/** How long a client holds on that reads or writes nothing. */
const HOLD_MS = 5000;
/** What a call is waited for at most; the adapter's own limits are longer for some. */
const PATIENCE_MS = 10_000;

/** What the attacks are run against. */
export interface Target {
  /** Of the adapter, without a slash at the end. */
  readonly url: string;
  /** Path of the mount of the hostile upstream. */
  readonly mount: string;
  /** The same of its older transport. */
  readonly sseMount: string;
  /** URL of the scraper. */
  readonly scraper: string;
}
export type Attack = (target: Target) => Promise<void>;

export interface AttackRun {
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly from: number;
  readonly until: number;
}

async function open({ url }: Target): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

const head = ({ url, mount }: Target, length: number, more = ''): string =>
  `POST ${mount} HTTP/1.1\r\nHost: ${new URL(url).host}\r\nContent-Type: application/json\r\n` +
  `Accept: application/json, text/event-stream\r\nContent-Length: ${length}\r\n${more}\r\n`;

/** Sends bytes as they are, and holds the connection for a while. Nothing is read where `isDeaf`. */
async function sendRaw(target: Target, bytes: string | Buffer, isDeaf = false): Promise<void> {
  const socket = await open(target);
  if (isDeaf) socket.pause();
  else socket.resume();
  socket.write(bytes);
  await Promise.race([once(socket, 'close').catch(() => undefined), delay(HOLD_MS)]);
  socket.destroy();
}

const callOf = (name: string, args: string, id = '1'): string =>
  `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${name}","arguments":${args}}}`;

const sendBody =
  (body: string): Attack =>
  (target) =>
    sendRaw(target, head(target, body.length) + body);

async function inSession(target: Target, work: (client: RawClient) => Promise<unknown>): Promise<void> {
  const client = await openRawClient(target.url + target.mount);
  try {
    await work(client);
  } finally {
    await client.delete().catch(() => undefined);
  }
}

const callTool =
  (name: string): Attack =>
  (target) =>
    inSession(target, async (client) => {
      const signal = AbortSignal.timeout(PATIENCE_MS);
      const response = await client.request('tools/call', { name, arguments: {} }, signal);
      for await (const _ of response.body ?? []) if (signal.aborted) break;
    });

const WIDE = callOf('x', `{"a":[${'{},'.repeat(5 * MIB)}{}]}`);

/** Each is over within seconds, and may fail as it likes: what counts is what becomes of the others. */
export const ATTACKS: Readonly<Record<string, Attack>> = {
  'a wide body without a session': sendBody(WIDE),
  'a wide body with a session that does not exist': (target) =>
    sendRaw(target, head(target, WIDE.length, 'Mcp-Session-Id: 0000\r\n') + WIDE),
  'a wide body in a session': (target) =>
    inSession(target, (client) => client.post(WIDE, {}, AbortSignal.timeout(PATIENCE_MS))),
  'a deep body': sendBody('['.repeat(8 * MIB)),
  'a body that is no JSON': sendBody('\u0000{"'.repeat(MIB)),
  'forty bodies that never end': async (target) => {
    const begun = Buffer.concat([Buffer.from(head(target, 16 * MIB)), Buffer.alloc(2 * MIB, ' ')]);
    await Promise.all(Array.from({ length: 40 }, () => sendRaw(target, begun)));
  },
  'sixty bodies without a session that stop at 15 of 16 MiB': async (target) => {
    const modern = 'MCP-Protocol-Version: 2026-07-28\r\n';
    const begun = Buffer.concat([Buffer.from(head(target, 16 * MIB, modern)), Buffer.alloc(15 * MIB, ' ')]);
    await Promise.all(Array.from({ length: 60 }, () => sendRaw(target, begun)));
  },
  'ten bodies of single bytes': async (target) => {
    const lines = head(target, 0, 'MCP-Protocol-Version: 2026-07-28\r\nTransfer-Encoding: chunked\r\n');
    const begun = lines.replace('Content-Length: 0\r\n', '') + '1\r\n \r\n'.repeat(MIB);
    await Promise.all(Array.from({ length: 10 }, () => sendRaw(target, begun)));
  },
  'two hundred connections that say nothing': async (target) => {
    await Promise.all(Array.from({ length: 200 }, () => sendRaw(target, '')));
  },
  'a hundred half heads': async (target) => {
    await Promise.all(Array.from({ length: 100 }, () => sendRaw(target, 'POST / HTTP/1.1\r\nHost: x\r\nA')));
  },
  'a thousand connections to the scraper that say nothing': async ({ scraper, ...target }) => {
    const held = { ...target, scraper, url: scraper };
    const half = 'GET /livez HTTP/1.1\r\nHost: x\r\n';
    await Promise.all(Array.from({ length: 1000 }, (_, i) => sendRaw(held, i % 2 === 0 ? '' : half)));
  },
  'an initialize that is answered by notifications without an end': async ({ url, mount }) => {
    await openRawClient(url + mount, { capabilities: { experimental: { [ENDLESS]: {} } } }).catch(() => undefined);
  },
  'twenty sessions of an older transport that are told a lot': async ({ url, sseMount }) => {
    for (let i = 0; i < 20; i++) await openRawClient(url + sseMount).catch(() => undefined);
  },
  'requests that are none': async (target) => {
    for (const bytes of ['\0\0\0\r\n\r\n', 'GET\r\n\r\n', `${'A'.repeat(100_000)}\r\n`, 'TRACE * HTTP/9.9\r\n\r\n'])
      await sendRaw(target, bytes);
  },
  'three hundred lists on one connection, unread': (target) =>
    inSession(target, (client) => {
      const body = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
      const one = head(target, body.length, `Mcp-Session-Id: ${client.sessionId}\r\n`) + body;
      return sendRaw(target, one.repeat(300), true);
    }),
  'twenty thousand calls on one connection, unread': (target) =>
    inSession(target, (client) => {
      const body = callOf('large-text', '{}');
      const one = head(target, body.length, `Mcp-Session-Id: ${client.sessionId}\r\n`) + body;
      return sendRaw(target, one.repeat(20_000), true);
    }),
  'forty large lists that nobody reads': (target) =>
    inSession(target, (client) => {
      const body = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
      const one = head(target, body.length, `Mcp-Session-Id: ${client.sessionId}\r\n`) + body;
      return Promise.all(Array.from({ length: 40 }, () => sendRaw(target, one, true)));
    }),
  'ten large answers that nobody reads': (target) =>
    inSession(target, (client) => {
      const body = callOf('large-text', '{}');
      const one = head(target, body.length, `Mcp-Session-Id: ${client.sessionId}\r\n`) + body;
      return Promise.all(Array.from({ length: 10 }, () => sendRaw(target, one, true)));
    }),
  'parameters of initialize that are kept': async ({ url, mount }) => {
    const capabilities = { experimental: { x: 'x'.repeat(200_000) } };
    for (let i = 0; i < 20; i++) await openRawClient(url + mount, { capabilities }).catch(() => undefined);
  },
  'a hundred sessions that are left': async ({ url, mount }) => {
    for (let i = 0; i < 100; i++) await openRawClient(url + mount).catch(() => undefined);
  },
  'lists of a hostile upstream': (target) =>
    inSession(target, async (client) => {
      for (let i = 0; i < 3; i++) await client.call('tools/list').catch(() => undefined);
    }),
  'names that code mode does not know': (target) =>
    inSession({ ...target, mount: `${target.mount}-code` }, async (client) => {
      const tools = Array.from({ length: 40 }, (_, i) => wordsOf(24, i));
      const signal = AbortSignal.timeout(PATIENCE_MS);
      await client.request('tools/call', { name: 'evil_code_get_schema', arguments: { tools } }, signal);
      await client.request('tools/call', { name: 'evil_code_search', arguments: { query: wordsOf(24, 0) } }, signal);
    }),
  ...Object.fromEntries(
    Object.keys(HOSTILE_SSE_TOOLS).map((name) => [
      `the tool ${name}`,
      (target: Target) => callTool(name)({ ...target, mount: target.sseMount }),
    ]),
  ),
  ...Object.fromEntries(Object.keys(HOSTILE_TOOLS).map((name) => [`the tool ${name}`, callTool(name)])),
};
