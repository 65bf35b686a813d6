import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningAdapter, startAdapter } from '../../support/adapter-process.ts';
import { listen } from '../../support/ports.ts';
import { connectV1 } from '../../support/real-client-v1.ts';
import { connectV2 } from '../../support/real-client-v2.ts';
import { mounted } from '../kit/deployment.ts';

interface Asked {
  readonly id: number | string;
  readonly method: string;
}
interface Answering {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly id: number | string;
  /** The stream that the client has opened by GET. */
  readonly stream: ServerResponse;
}

/** What no client must get to see: an invisible character in a description. */
const HIDDEN = '\u{200b}';
const RESULT = { tools: [{ name: 'evil', description: `do${HIDDEN}this`, inputSchema: { type: 'object' } }] };

const message = (id: unknown, more: object = {}): string =>
  JSON.stringify({ jsonrpc: '2.0', id, result: { ...RESULT, ...more } });
const frame = (data: string, event = 'message'): string => `event: ${event}\ndata: ${data}\n\n`;
const asJson = (res: ServerResponse, text: string, status = 200): void =>
  void res.writeHead(status, { 'content-type': 'application/json' }).end(text);
const asEvents = (res: ServerResponse, ...frames: string[]): void =>
  void res.writeHead(200, { 'content-type': 'text/event-stream' }).end(frames.join(''));

/** Ways to answer a list so that a client may take it, and whoever looks for the answer may not find it. */
const WAYS: Readonly<Record<string, (at: Answering) => void>> = {
  'an array': ({ res, id }) => asJson(res, `[${message(id)}]`),
  'another status': ({ res, id }) => asJson(res, message(id), 203),
  'an id of another type': ({ res, id }) => asEvents(res, frame(message(String(id))), frame(message(id))),
  'an id of another type as JSON': ({ res, id }) => asJson(res, message(String(id))),
  'the same id twice': ({ res, id }) => {
    const unfit = message(id).replace('{', '{"unfit":1,');
    asEvents(res, frame(unfit), frame(message(id)));
  },
  'an event of another type before it': ({ res, id }) => asEvents(res, frame(message(id), 'other'), frame(message(id))),
  'a stream that is open already': ({ res, id, stream }) => {
    stream.write(frame(message(id)));
    asEvents(res);
  },
  'what looks like the result of a call': ({ res, id, stream }) => {
    stream.write(frame(message(id, { content: [] })));
    asEvents(res);
  },
  'members that some parsers take for others': ({ res, id }) =>
    asJson(
      res,
      `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"tools":[],"Tools":${JSON.stringify(RESULT.tools)}}}`,
    ),
  'members that come twice': ({ res, id }) =>
    asJson(
      res,
      `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"tools":${JSON.stringify(RESULT.tools)},"tools":[]}}`,
    ),
};

/** They mean something else to clients of other languages: nobody gets them. */
const REFUSED = /^members that/;

/** A server that answers lists in that way, and anything else as it should. */
function server(way: (at: Answering) => void): ReturnType<typeof createServer> {
  let stream: ServerResponse | undefined;
  return createServer((req, res) => {
    if (req.method === 'GET') {
      stream = res.writeHead(200, { 'content-type': 'text/event-stream' });
      stream.flushHeaders();
      return;
    }
    if (req.method !== 'POST') {
      res.writeHead(200).end();
      return;
    }
    void json(req).then((body) => {
      const { id, method } = body as Asked;
      if (id === undefined) return void res.writeHead(202).end();
      if (method === 'tools/list' && stream !== undefined) return way({ req, res, id, stream });
      const initialized = {
        protocolVersion: '2025-11-25',
        capabilities: { tools: {} },
        serverInfo: { name: 'around', version: '1' },
      };
      res.setHeader('mcp-session-id', 'session');
      const result = method === 'initialize' ? initialized : {};
      asJson(res, JSON.stringify({ jsonrpc: '2.0', id, result }));
    });
  });
}

describe('however a server sends its tools, no client gets them as they are', () => {
  const opened = new AsyncDisposableStack();
  let adapter: RunningAdapter;
  const ids = Object.keys(WAYS).map((way, i) => [way, `w${i}`] as const);

  beforeAll(async () => {
    const servers = await Promise.all(
      ids.map(async ([way, id]) => {
        const listener = server(WAYS[way] as (at: Answering) => void);
        const port = await listen(listener);
        opened.defer(async () => {
          listener.closeAllConnections();
          listener.close();
        });
        return mounted(id, `http://127.0.0.1:${port}/mcp`, { tool_definition_pinning: { mode: 'off' } });
      }),
    );
    const core = { max_start_wait_seconds: 0, upstream_ping: { enabled: false } };
    adapter = await startAdapter({ config: { core, state_persistence: { type: 'memory' }, servers } });
    opened.defer(async () => void (await adapter.stop()));
  });
  afterAll(() => opened.disposeAsync());

  describe.for([
    ['v1', connectV1],
    ['v2', connectV2],
  ] as const)('client %s', ([, connect]) => {
    test.for(ids)('%s', async ([way, id]) => {
      const answers = { sampling: '', elicitation: { action: 'decline' }, roots: [] } as const;
      const url = `${adapter.url}/mcp/${id}`;
      await using client = await connect({ url, transport: 'streamable_http', answers: { ...answers, roots: [] } });
      const signal = AbortSignal.timeout(1_000);
      const listed = await client.request('tools/list', {}, { signal }).catch((error: unknown) => error);
      expect(JSON.stringify([listed, client.received])).not.toContain(HIDDEN);
      if (REFUSED.test(way)) expect(listed).toMatchObject({ message: expect.stringContaining('read differently') });
    });
  });
});
