import type { ServerResponse } from 'node:http';

const MIB = 1 << 20;
const PROTOCOL = '2025-11-25';

type Answer = (id: unknown, reply: ServerResponse) => void | Promise<void>;

const asJson = (reply: ServerResponse, text: string | Buffer): void => {
  reply.writeHead(200, { 'content-type': 'application/json' });
  reply.end(text);
};
const asEvents = (reply: ServerResponse): ServerResponse => {
  reply.writeHead(200, { 'content-type': 'text/event-stream' });
  return reply;
};
const result = (id: unknown, value: unknown): string => JSON.stringify({ jsonrpc: '2.0', id, result: value });

/** Writes until the reader leaves, no faster than it reads. */
async function forever(reply: ServerResponse, chunk: string): Promise<void> {
  while (!reply.destroyed) {
    if (reply.write(chunk)) await new Promise((resolve) => setImmediate(resolve));
    else await new Promise<void>((resolve) => reply.once('drain', resolve).once('close', resolve));
  }
}

/** An answer of which each byte is a part of its own. */
export async function singleBytes(reply: ServerResponse, type: string, count: number): Promise<void> {
  reply.writeHead(200, { 'content-type': type, 'transfer-encoding': 'chunked' });
  reply.flushHeaders();
  const parts = '1\r\n \r\n'.repeat(10_000);
  for (let sent = 0; sent < count && !reply.destroyed; sent += 10_000)
    if (reply.socket?.write(parts) === false)
      await new Promise<void>((resolve) => reply.socket?.once('drain', resolve).once('close', resolve));
}

/** What a hostile upstream answers to a tool of this name. */
export const HOSTILE_TOOLS: Readonly<Record<string, Answer>> = {
  'comments-with-crlf': (id, reply) => {
    asEvents(reply).write(':\r\n\r\n'.repeat(50_000));
    reply.end(`data: ${result(id, { content: [] })}\r\n\r\n`);
  },
  'deep-event': (_, reply) => void asEvents(reply).end(`data: ${'['.repeat(8 * MIB)}\n\n`),
  'deep-json': (_, reply) => asJson(reply, '['.repeat(24 * MIB)),
  'wide-json': (id, reply) =>
    asJson(reply, `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":[${'{},'.repeat(5 * MIB)}0]}`),
  'wide-event': (id, reply) =>
    void asEvents(reply).end(
      `data: {"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":[${'{},'.repeat(5 * MIB)}0]}\n\n`,
    ),
  'endless-event': (_, reply) => forever(asEvents(reply), 'data: x'.repeat(4096)),
  'endless-json': (_, reply) => {
    reply.writeHead(200, { 'content-type': 'application/json' });
    return forever(reply, ' '.repeat(64 << 10));
  },
  'large-text': (id, reply) => asJson(reply, result(id, { content: [{ type: 'text', text: 'x'.repeat(8 * MIB) }] })),
  'responses-that-are-none': (id, reply) => {
    const evil = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":null,"Result":{"tools":[]},"result":{}}`;
    asEvents(reply).write(`: \u2028data: ${evil}\n\ndata: ${evil}\n\n`.repeat(5000));
    reply.end(`data: ${result(id, { content: [] })}\n\n`);
  },
  'two-results': (id, reply) =>
    void asEvents(reply).end(
      `data: {"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":"${'x'.repeat(8 * MIB)}","result":{}}\n\n`,
    ),
  'single-bytes': (_, reply) => singleBytes(reply, 'application/json', 4 * MIB),
  'single-bytes-of-events': (_, reply) => singleBytes(reply, 'text/event-stream', 4 * MIB),
  silent: () => undefined,
  'informational-answers': (id, reply) => {
    for (let i = 0; i < 100; i++) reply.writeEarlyHints({ link: '</x>; rel=preload' });
    asJson(reply, result(id, { content: [] }));
  },
};

/** The `tools/list` of the hostile upstream: each tool once, and sometimes far too many. */
const LISTS: readonly Answer[] = [
  (id, reply) => asJson(reply, result(id, { tools: Object.keys(HOSTILE_TOOLS).map((name) => tool(name)) })),
  (id, reply) => asJson(reply, result(id, { tools: Array.from({ length: 200_000 }, (_, i) => tool(`t${i}`)) })),
  (id, reply) => asJson(reply, result(id, { tools: [tool('\u202e'.repeat(MIB))], nextCursor: 'x'.repeat(4096) })),
  (id, reply) => asJson(reply, result(id, { tools: Array.from({ length: 3000 }, (_, i) => wordyTool(i)) })),
];
const tool = (name: string, description = 'x'.repeat(100)): object => ({
  name,
  description,
  inputSchema: { type: 'object' },
});
const wordyTool = (i: number): object => tool(wordsOf(3, i).replaceAll(' ', '_'), wordsOf(180, i));
/** Hardly one of them is in two places. */
export const wordsOf = (count: number, seed: number): string =>
  Array.from({ length: count }, (_, i) => ((seed + 1) * 1_000_003 * (i + 7)).toString(36)).join(' ');

let lists = 0;

/** A client with this capability gets notifications without an end in place of an answer to `initialize`. */
export const ENDLESS = 'endless';
const NOTE = `data: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: { data: 'x' } })}\n\n`;
interface Params {
  readonly name?: string;
  readonly capabilities?: { readonly experimental?: Readonly<Record<string, unknown>> };
}

/** Answers one message of a session, as a server does that wants to end its clients. */
export async function answerHostile(body: string, reply: ServerResponse): Promise<void> {
  const { id, method, params } = JSON.parse(body) as { id?: unknown; method: string; params?: Params };
  if (id === undefined) return void reply.writeHead(202).end();
  switch (method) {
    case 'initialize':
      if (params?.capabilities?.experimental?.[ENDLESS] !== undefined) return forever(asEvents(reply), NOTE);
      reply.setHeader('mcp-session-id', crypto.randomUUID());
      return asJson(
        reply,
        result(id, { protocolVersion: PROTOCOL, capabilities: { tools: {} }, serverInfo: { name: 'h', version: '1' } }),
      );
    case 'tools/list':
      return LISTS[lists++ % LISTS.length]?.(id, reply);
    case 'tools/call':
      return HOSTILE_TOOLS[params?.name ?? '']?.(id, reply);
    default:
      return asJson(reply, result(id, {}));
  }
}
