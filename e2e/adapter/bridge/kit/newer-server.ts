import { EventEmitter, once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import {
  acceptedContent,
  createMcpHandler,
  fromJsonSchema,
  inputRequired,
  McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { textResult } from '../../../support/fixture/content.ts';
import { answer } from '../../../support/fixture/http.ts';
import { createStreamableSessions } from '../../../support/fixture/streamable-sessions.ts';
import { listen } from '../../../support/ports.ts';

/** `newer`: only 2026-07-28. `older`: only the revisions with sessions. */
export type Speaks = 'newer' | 'older';

export interface SeenRequest {
  readonly method: string;
  /** `Mcp-Method`. */
  readonly named: string | undefined;
  readonly headers: NodeJS.Dict<string | string[]>;
}

/** A server of the SDK, in this process, that speaks one revision at a time. */
export interface NewerServer extends AsyncDisposable {
  readonly url: string;
  /** All HTTP requests so far. */
  readonly seen: SeenRequest[];
  /** Breaks all connections and forgets all sessions, as a restart with another version does. */
  restart(speaks: Speaks): void;
  /** Breaks all connections. */
  breakConnections(): void;
  /** Resolves when it has been listened to so often, since this was asked last. */
  listened(times: number): Promise<void>;
  /** Tells those who listen. */
  touch(uri: string): void;
  toolsChanged(): void;
  /** The description of the tool `plain`, from now on. */
  describe(description: string): void;
  /** Resolves when `wait` runs. */
  waiting(): Promise<void>;
  /** Resolves when a call of `wait` has been given up. */
  givenUp(): Promise<void>;
}

const texts = (...names: string[]) =>
  fromJsonSchema<Record<string, string>>({
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
    required: names,
  });
const LEVELS = ['debug', 'info', 'warning', 'error'] as const;

export async function startNewerServer(first: Speaks = 'newer'): Promise<NewerServer> {
  const events = new EventEmitter();
  const seen: SeenRequest[] = [];
  let description = 'Says hello';

  function create(
    ask: (call: ServerContext) => ReturnType<typeof textResult> | ReturnType<typeof inputRequired>,
  ): McpServer {
    const capabilities = {
      tools: { listChanged: true },
      resources: { subscribe: true, listChanged: true },
      prompts: { listChanged: true },
      logging: {},
    };
    const server = new McpServer(
      { name: 'newer-server', version: '1.0.0' },
      { capabilities, instructions: 'Be kind.' },
    );
    server.registerTool('plain', { description }, () => textResult('hello'));
    server.registerTool('ask', { description: 'Asks for a name' }, (call) => ask(call));
    server.registerTool('log', { description: 'Logs at four levels' }, async (call) => {
      for (const level of LEVELS) await call.mcpReq.log(level, `at ${level}`);
      return textResult('logged');
    });
    server.registerTool('wait', { description: 'Waits until it is given up' }, async (call) => {
      events.emit('waiting');
      await once(call.mcpReq.signal, 'abort');
      events.emit('given up');
      return textResult('given up');
    });
    server.registerTool('read', { description: 'Reads a file', inputSchema: texts('file') }, async ({ file = '' }) =>
      textResult(await readFile(file, 'utf8')),
    );
    server.registerTool('write', { description: 'Writes a file', inputSchema: texts('path', 'text') }, async (args) => {
      await writeFile(args['path'] ?? '', args['text'] ?? '');
      return textResult(`Saved ${args['path']}`);
    });
    return server;
  }

  const modern = createMcpHandler(
    () =>
      create((call) => {
        const said = acceptedContent<{ name?: unknown }>(call.mcpReq.inputResponses, 'who');
        if (typeof said?.name === 'string') return textResult(`Hello, ${said.name}!`);
        const requestedSchema = { type: 'object' as const, properties: { name: { type: 'string' as const } } };
        return inputRequired({ inputRequests: { who: inputRequired.elicit({ message: 'Who?', requestedSchema }) } });
      }),
    { legacy: 'reject' },
  );
  const newSessions = () => createStreamableSessions(() => create(() => textResult('Hello, whoever.')));
  let speaks = first;
  let sessions = newSessions();
  const listens = { since: 0 };
  const fetch = async (request: Request): Promise<Response> => {
    if (speaks === 'older') return sessions(request);
    const response = await modern.fetch(request);
    if (request.headers.get('mcp-method') === 'subscriptions/listen' && response.ok) {
      listens.since += 1;
      events.emit('listened');
    }
    return response;
  };
  const listener = createServer((req, res) => {
    seen.push({
      method: req.method ?? '',
      named: typeof req.headers['mcp-method'] === 'string' ? req.headers['mcp-method'] : undefined,
      headers: req.headers,
    });
    answer(fetch, req, res).catch(() => res.destroy());
  });
  const port = await listen(listener);

  return {
    url: `http://127.0.0.1:${port}/mcp`,
    seen,
    restart(next) {
      speaks = next;
      sessions = newSessions();
      listener.closeAllConnections();
    },
    breakConnections: () => listener.closeAllConnections(),
    async listened(times) {
      const signal = AbortSignal.timeout(20_000);
      while (listens.since < times) await once(events, 'listened', { signal });
      listens.since = 0;
    },
    touch: (uri) => modern.notify.resourceUpdated(uri),
    toolsChanged: () => modern.notify.toolsChanged(),
    describe(next) {
      description = next;
    },
    waiting: async () => void (await once(events, 'waiting', { signal: AbortSignal.timeout(20_000) })),
    givenUp: async () => void (await once(events, 'given up', { signal: AbortSignal.timeout(20_000) })),
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => listener.close(() => resolve()));
      listener.closeAllConnections();
      await closed;
    },
  };
}
