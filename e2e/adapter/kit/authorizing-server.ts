import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { listen } from '../../support/ports.ts';
import { secret } from '../../support/secrets/secret.ts';

export const CLIENT = { clientId: 'agent', clientSecret: secret('client of OAuth') };

export interface AuthorizingServer {
  readonly url: string;
  readonly issuer: string;
  /** What tokens were asked for, in the forms of the clients. */
  readonly grants: readonly URLSearchParams[];
  /** What unauthenticated requests were sent to. */
  readonly reads: readonly string[];
  close(): Promise<void>;
}

/** A server that asks its clients for OAuth tokens, and its authorization server. Its tool `admin` needs that scope. */
export async function startAuthorizingServer(): Promise<AuthorizingServer> {
  const grants: URLSearchParams[] = [];
  const reads: string[] = [];
  /** Scopes by token. */
  const tokens = new Map<string, string>();
  let origin = '';

  const json = (res: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void => {
    res.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  };
  const challenge = (res: ServerResponse, status: number, words: string): void => {
    const value = `Bearer ${words}, resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`;
    json(res, status, { error: 'no' }, { 'www-authenticate': value });
  };

  async function serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const token = tokens.get(req.headers.authorization?.replace('Bearer ', '') ?? '');
    if (token === undefined) return challenge(res, 401, 'error="invalid_token"');
    const body = req.method === 'POST' ? await text(req) : undefined;
    if (body?.includes('"admin"') === true && !token.includes('admin')) {
      return challenge(res, 403, 'error="insufficient_scope", scope="mcp admin"');
    }
    const server = new Server({ name: 'closed', version: '1' }, { capabilities: { tools: {} } });
    const tools = ['hello', 'admin'].map((name) => ({ name, inputSchema: { type: 'object' as const } }));
    server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
    server.setRequestHandler(CallToolRequestSchema, ({ params }) => ({
      content: [{ type: 'text', text: params.name }],
    }));
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined, enableJsonResponse: true });
    await server.connect(transport);
    await transport.handleRequest(req, res, body === undefined ? undefined : JSON.parse(body));
  }

  async function handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { pathname } = new URL(req.url ?? '/', origin);
    if (pathname === '/mcp') return serve(req, res);
    reads.push(pathname);
    if (pathname === '/.well-known/oauth-protected-resource/mcp') {
      const servers = { authorization_servers: [origin], scopes_supported: ['mcp'] };
      return json(res, 200, { resource: `${origin}/mcp`, ...servers, jwks_uri: `${origin}/keys` });
    }
    if (pathname === '/.well-known/oauth-authorization-server') {
      return json(res, 200, {
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        response_types_supported: ['code'],
        grant_types_supported: ['client_credentials'],
        token_endpoint_auth_methods_supported: ['client_secret_basic'],
        code_challenge_methods_supported: ['S256'],
      });
    }
    if (pathname !== '/token') return json(res, 404, {});
    const form = new URLSearchParams(await text(req));
    grants.push(form);
    const token = secret(`token ${tokens.size}`);
    tokens.set(token, form.get('scope') ?? 'mcp');
    json(res, 200, { access_token: token, token_type: 'Bearer', expires_in: 3600, scope: form.get('scope') ?? 'mcp' });
  }

  const http = createServer((req, res) => void handle(req, res));
  origin = `http://127.0.0.1:${await listen(http)}`;
  return {
    url: `${origin}/mcp`,
    issuer: origin,
    grants,
    reads,
    async close() {
      const closed = new Promise<void>((resolve) => void http.close(() => resolve()));
      http.closeAllConnections();
      await closed;
    },
  };
}
