import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { parseArgs } from 'node:util';
import { McpServer } from '@modelcontextprotocol/server';
import { answer } from '../fixture/http.ts';
import { createStreamableSessions } from '../fixture/streamable-sessions.ts';
import { listen } from '../ports.ts';
import { registerEditingTools } from './editing-tools.ts';
import { Gates } from './gates.ts';
import { registerHostileTools } from './hostile-tools.ts';
import { registerReadingTools } from './reading-tools.ts';
import { registerWritingTools } from './writing-tools.ts';

/**
 * `node e2e/support/file-tools/main.ts --port 0`: an MCP server at /mcp whose tools read and write files, and wait at
 * gates: `GET /gates/NAME` is answered when a tool has come there, `POST /gates/NAME` opens it. Prints `{"port":N}`
 * when it listens on 127.0.0.1.
 */
const gates = new Gates();

function createFileServer(): McpServer {
  const server = new McpServer({ name: 'file-tools', version: '1.0.0' }, { capabilities: { tools: {}, logging: {} } });
  registerReadingTools(server, gates);
  registerWritingTools(server, gates);
  registerEditingTools(server, gates);
  registerHostileTools(server, gates);
  return server;
}

const sessions = createStreamableSessions(createFileServer);

async function route(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const [, first, name = ''] = (req.url ?? '/').split('/');
  if (first === 'mcp') {
    await answer(sessions, req, res);
    return;
  }
  if (first !== 'gates') {
    res.writeHead(404).end();
    return;
  }
  if (req.method === 'POST') gates.open(name);
  else await gates.arrived(name);
  res.writeHead(204).end();
}

const { values } = parseArgs({ options: { port: { type: 'string', default: '0' } } });
process.on('SIGTERM', () => process.exit(0));
process.on('SIGINT', () => process.exit(0));
const server = createServer((req, res) => {
  route(req, res).catch((error: unknown) => {
    console.error(error);
    res.destroy();
  });
});
const port = await listen(server, Number(values.port));
console.log(JSON.stringify({ port }));
