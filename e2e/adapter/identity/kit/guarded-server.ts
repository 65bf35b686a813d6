import { createServer } from 'node:http';
import {
  completable,
  createMcpHandler,
  isLegacyRequest,
  McpServer,
  ResourceTemplate,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { answer } from '../../../support/fixture/http.ts';
import { createStreamableSessions } from '../../../support/fixture/streamable-sessions.ts';
import { listen } from '../../../support/ports.ts';

/** What the server has of each kind; one of each is for everybody, the other for a few. */
export const PARTS = ['public', 'private'] as const;

/** A server with two tools, resources, templates and prompts, in both families of revisions. */
export async function startGuardedServer(): Promise<
  AsyncDisposable & { readonly url: string; readonly called: string[] }
> {
  const called: string[] = [];
  const create = (): McpServer => {
    const capabilities = { tools: {}, resources: { subscribe: true }, prompts: {}, completions: {} };
    const server = new McpServer({ name: 'guarded', version: '1.0.0' }, { capabilities });
    for (const name of ['read', 'write']) {
      server.registerTool(name, { description: `Does ${name}.` }, () => {
        called.push(name);
        return { content: [{ type: 'text', text: `${name} done` }] };
      });
    }
    for (const part of PARTS) {
      const text = (uri: string) => ({ contents: [{ uri, text: `content of ${uri}` }] });
      server.registerResource(`${part}-1`, `doc://${part}/1`, {}, ({ href }) => text(href));
      const complete = { id: () => [`${part}-suggestion`] };
      const template = new ResourceTemplate(`doc://${part}/{id}`, { list: undefined, complete });
      server.registerResource(part, template, {}, ({ href }) => text(href));
    }
    for (const name of ['greet', 'admin']) {
      const argsSchema = z.object({ who: completable(z.string(), () => [`${name}-suggestion`]) });
      server.registerPrompt(name, { argsSchema }, () => ({
        messages: [{ role: 'user', content: { type: 'text', text: `text of ${name}` } }],
      }));
    }
    server.server.setRequestHandler('resources/subscribe', () => ({}));
    return server;
  };
  const sessions = createStreamableSessions(create);
  const modern = createMcpHandler(create, { legacy: 'reject' });
  const http = createServer((req, res) => {
    const served = answer(
      async (request) => ((await isLegacyRequest(request)) ? sessions(request) : modern.fetch(request)),
      req,
      res,
    );
    served.catch(() => res.destroy());
  });
  return {
    url: `http://127.0.0.1:${await listen(http)}/mcp`,
    called,
    async [Symbol.asyncDispose]() {
      http.closeAllConnections();
      await new Promise<void>((resolve) => void http.close(() => resolve()));
    },
  };
}
