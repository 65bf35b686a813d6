import { createServer } from 'node:http';
import {
  createMcpHandler,
  fromJsonSchema,
  isLegacyRequest,
  McpServer,
  type RegisteredTool,
} from '@modelcontextprotocol/server';
import { textResult } from './fixture/content.ts';
import { answer } from './fixture/http.ts';
import { createStreamableSessions } from './fixture/streamable-sessions.ts';
import { listen } from './ports.ts';

export interface ChangingTool {
  readonly description: string;
  /** Names of its arguments, all texts. */
  readonly args?: readonly string[];
}

/**
 * A server of the SDK, in this process, of both eras. Its tools change while it runs, and it says so in the way of the
 * SDK: one `list_changed` for each step, to the sessions that it has.
 */
export interface ChangingServer extends AsyncDisposable {
  readonly url: string;
  /** Adds a tool, or changes it where it is. */
  put(name: string, tool: ChangingTool): void;
  remove(name: string): void;
  rename(from: string, to: string): void;
}

interface Live {
  readonly server: McpServer;
  readonly tools: Map<string, RegisteredTool>;
}

export async function startChangingServer(first: Readonly<Record<string, ChangingTool>>): Promise<ChangingServer> {
  const current = new Map(Object.entries(first));
  const sessions: Live[] = [];

  function create(): Live {
    const live = { server: new McpServer({ name: 'changing-server', version: '1.0.0' }), tools: new Map() };
    for (const [name, tool] of current) register(live, name, tool);
    return live;
  }
  const createForSession = (): McpServer => {
    const live = create();
    sessions.push(live);
    return live.server;
  };

  const legacy = createStreamableSessions(createForSession);
  const modern = createMcpHandler(() => create().server, { legacy: 'reject' });
  const fetch = async (request: Request): Promise<Response> =>
    (await isLegacyRequest(request)) ? await legacy(request) : await modern.fetch(request);
  const listener = createServer((req, res) => void answer(fetch, req, res).catch(() => res.destroy()));
  const port = await listen(listener);

  return {
    url: `http://127.0.0.1:${port}/mcp`,
    put(name, tool) {
      current.set(name, tool);
      for (const live of sessions) {
        const known = live.tools.get(name);
        if (known === undefined) register(live, name, tool);
        else known.update({ description: tool.description, paramsSchema: schemaOf(tool) });
      }
    },
    remove(name) {
      current.delete(name);
      for (const { tools } of sessions) {
        tools.get(name)?.remove();
        tools.delete(name);
      }
    },
    rename(from, to) {
      const tool = current.get(from);
      if (tool === undefined) throw new Error(`no tool ${from}`);
      current.delete(from);
      current.set(to, tool);
      for (const { tools } of sessions) {
        const registered = tools.get(from);
        registered?.update({ name: to });
        tools.delete(from);
        if (registered !== undefined) tools.set(to, registered);
      }
    },
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => listener.close(() => resolve()));
      listener.closeAllConnections();
      await closed;
    },
  };
}

const schemaOf = ({ args = [] }: ChangingTool) =>
  fromJsonSchema({
    type: 'object',
    properties: Object.fromEntries(args.map((name) => [name, { type: 'string' as const }])),
  });

function register({ server, tools }: Live, name: string, tool: ChangingTool): void {
  const { description } = tool;
  tools.set(
    name,
    server.registerTool(name, { description, inputSchema: schemaOf(tool) }, () => textResult(`called ${name}`)),
  );
}
