import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { listen } from '../../support/ports.ts';

export interface AskingServer {
  readonly url: string;
  /** Questions that had no stream to go to. */
  readonly dropped: number;
  close(): Promise<void>;
}

const NAME = { type: 'object' as const, properties: { name: { type: 'string' as const } } };

/**
 * A server of the SDK whose tool `ask` asks the user on the session's own stream. The SDK drops what has no stream, so
 * that such a call never ends.
 */
export async function startAskingServer(): Promise<AskingServer> {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  let dropped = 0;
  const open = async (): Promise<StreamableHTTPServerTransport> => {
    let hasStream = false;
    const transport: StreamableHTTPServerTransport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, transport),
      onsessionclosed: (id) => void sessions.delete(id),
    });
    const handleAll = transport.handleRequest.bind(transport);
    transport.handleRequest = (req, res, body) => {
      if (req.method === 'GET') hasStream = true;
      return handleAll(req, res, body);
    };
    const server = new Server({ name: 'asking', version: '1' }, { capabilities: { tools: {} } });
    server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [{ name: 'ask', inputSchema: NAME }] }));
    server.setRequestHandler(CallToolRequestSchema, async () => {
      if (!hasStream) dropped += 1;
      const { content } = await server.elicitInput({ message: 'Who is it?', requestedSchema: NAME });
      return { content: [{ type: 'text', text: String(content?.['name']) }] };
    });
    await server.connect(transport);
    return transport;
  };
  const handle = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const id = req.headers['mcp-session-id'];
    const known = typeof id === 'string' ? sessions.get(id) : undefined;
    await (known ?? (await open())).handleRequest(req, res);
  };
  const http = createServer((req, res) => void handle(req, res));
  const port = await listen(http);
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    get dropped() {
      return dropped;
    },
    async close() {
      const closed = new Promise<void>((resolve) => void http.close(() => resolve()));
      http.closeAllConnections();
      await closed;
    },
  };
}
