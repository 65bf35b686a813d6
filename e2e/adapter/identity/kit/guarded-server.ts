import { writeFile } from 'node:fs/promises';
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
const PARTS = ['public', 'private'] as const;

/** What an answer that is about one of the server's things has in it, and no other. */
export const nonceOf = (thing: string): string => `nonce-of-${thing}`;

/** A server with two tools, resources, templates and prompts, in both families of revisions. */
export interface GuardedServer extends AsyncDisposable {
  readonly url: string;
  /** Tools that were called. */
  readonly called: string[];
  /** Says more of the tool write than before: drift. '' takes it back. */
  say(more: string): void;
}

export async function startGuardedServer(): Promise<GuardedServer> {
  const called: string[] = [];
  const writes = new Set<ReturnType<McpServer['registerTool']>>();
  let said = '';
  const done = (name: string) => {
    called.push(name);
    return { content: [{ type: 'text' as const, text: `${name} done` }] };
  };
  const create = (): McpServer => {
    const capabilities = { tools: {}, resources: { subscribe: true }, prompts: {}, completions: {} };
    const server = new McpServer({ name: 'guarded', version: '1.0.0' }, { capabilities });
    server.registerTool('read', { description: nonceOf('read') }, () => done('read'));
    const inputSchema = z.object({ path: z.string().optional() });
    const write = server.registerTool(
      'write',
      { description: nonceOf('write') + said, inputSchema },
      async ({ path }) => {
        if (path !== undefined) await writeFile(path, 'written');
        return done('write');
      },
    );
    writes.add(write);
    for (const part of PARTS) {
      const text = (uri: string) => ({ contents: [{ uri, text: nonceOf(part) }] });
      const description = nonceOf(part);
      server.registerResource(`${part}-1`, `doc://${part}/1`, { description }, ({ href }) => text(href));
      const complete = { id: () => [nonceOf(part)] };
      const template = new ResourceTemplate(`doc://${part}/{id}`, { list: undefined, complete });
      server.registerResource(part, template, { description }, ({ href }) => text(href));
    }
    for (const name of ['greet', 'admin']) {
      const argsSchema = z.object({ who: completable(z.string(), () => [nonceOf(name)]) });
      server.registerPrompt(name, { description: nonceOf(name), argsSchema }, () => ({
        messages: [{ role: 'user', content: { type: 'text', text: nonceOf(name) } }],
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
    say(more) {
      said = more;
      for (const tool of writes) tool.update({ description: nonceOf('write') + said });
    },
    async [Symbol.asyncDispose]() {
      http.closeAllConnections();
      await new Promise<void>((resolve) => void http.close(() => resolve()));
    },
  };
}
