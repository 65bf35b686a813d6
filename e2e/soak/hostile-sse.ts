import type { ServerResponse } from 'node:http';

const note = (params: object): string =>
  `data: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params })}\n\n`;
const LARGE = note({ data: 'x'.repeat(256 << 10) });
/** How much of what nobody asked for comes after each answer. */
const UNASKED = 20;

/** What the tools of a hostile upstream of HTTP+SSE do, before their POST is answered. */
export const HOSTILE_SSE_TOOLS: Readonly<Record<string, (id: unknown, events: ServerResponse) => void>> = {
  'sse-messages-before-the-head': (_, events) =>
    void events.write(note({ data: 'x', progressToken: 1 }).repeat(10_000)),
  'sse-large-messages-before-the-head': (_, events) => {
    for (let i = 0; i < UNASKED; i++) events.write(LARGE);
  },
  'sse-answers-nobody-asked-for': (id, events) => {
    for (let i = 0; i < 1000; i++)
      events.write(`data: {"jsonrpc":"2.0","id":"${i}-${'x'.repeat(1000)}","result":{}}\n\n`);
    events.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result: { content: [] } })}\n\n`);
  },
};

const streams = new Map<string, ServerResponse>();

/** The GET stream of a session, whose POSTs name it. */
export function openHostileStream(reply: ServerResponse): void {
  const session = crypto.randomUUID();
  streams.set(session, reply);
  reply.on('close', () => streams.delete(session));
  reply.writeHead(200, { 'content-type': 'text/event-stream' });
  reply.write(`event: endpoint\ndata: /sse-post?session=${session}\n\n`);
}

/** Answers a POST on the stream of its session; calls stay without a head. */
export function answerHostileSse(body: string, session: string, reply: ServerResponse): void {
  const events = streams.get(session);
  const { id, method, params } = JSON.parse(body) as { id?: unknown; method: string; params?: { name?: string } };
  if (events === undefined) return void reply.writeHead(404).end();
  const attack = method === 'tools/call' ? HOSTILE_SSE_TOOLS[params?.name ?? ''] : undefined;
  if (attack !== undefined) return attack(id, events);
  reply.writeHead(202).end();
  if (id === undefined) return;
  const hello = {
    protocolVersion: '2025-06-18',
    capabilities: { tools: {} },
    serverInfo: { name: 'h', version: '1' },
  };
  const result = method === 'initialize' ? hello : {};
  events.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`);
  for (let i = 0; i < UNASKED; i++) events.write(LARGE);
}
