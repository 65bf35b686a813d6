import * as v2 from '@modelcontextprotocol/client';
import { ClientCredentialsProvider } from '@modelcontextprotocol/sdk/client/auth-extensions.js';
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Redis } from 'ioredis';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OtlpReceiver } from '../../../lib/otlp/testing/otlp-receiver.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../../support/scripted-upstream/scripted-upstream.ts';
import { secret } from '../../support/secrets/secret.ts';
import { type Deployment, mounted, startDeployment } from '../kit/deployment.ts';
import { AUDIENCE, type IdentityProvider, MACHINE, PERSON, startIdentityProvider } from '../kit/identity-provider.ts';
import { eventually } from '../kit/eventually.ts';
import { drain, knownSession, openSession, textOf } from '../kit/session.ts';

const INFO = { name: 'agent', version: '1' };
const STATIC = secret('token for machines');

/** What a client of the SDKs keeps of a person’s sign-in. */
class SignedIn {
  tokens_: { access_token: string; token_type: string } | undefined;
  #verifier = '';
  asked: URL | undefined;
  readonly redirectUrl = PERSON.redirectUri;
  readonly clientMetadata = { redirect_uris: [PERSON.redirectUri] };
  clientInformation = () => ({ client_id: PERSON.clientId });
  tokens = () => this.tokens_;
  saveTokens(tokens: { access_token: string; token_type: string }): void {
    this.tokens_ = tokens;
  }
  redirectToAuthorization(url: URL): void {
    this.asked = url;
  }
  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }
  codeVerifier = () => this.#verifier;
}

const codeIn = (brought: URLSearchParams): string => brought.get('code') ?? '';

/** All keys and values in a Redis, as text. */
async function allOf(url: string): Promise<string[]> {
  const redis = new Redis(url);
  const reads: Record<string, (key: string) => Promise<unknown>> = {
    string: (key) => redis.get(key),
    hash: (key) => redis.hgetall(key),
    list: (key) => redis.lrange(key, '0', '-1'),
    set: (key) => redis.smembers(key),
    zset: (key) => redis.zrange(key, '0', '-1'),
    stream: (key) => redis.xrange(key, '-', '+'),
  };
  try {
    const keys = await redis.keys('*');
    const values = keys.map(async (key) => `${key} ${JSON.stringify(await reads[await redis.type(key)]?.(key))}`);
    return await Promise.all(values);
  } finally {
    redis.disconnect();
  }
}

describe('an authorization server before two replicas', { timeout: 60_000 }, () => {
  let upstream: ScriptedUpstream;
  let provider: IdentityProvider;
  let deployment: Deployment;
  let collector: OtlpReceiver;
  let mount: string;

  beforeAll(async () => {
    [upstream, provider] = await Promise.all([startScriptedUpstream(), startIdentityProvider()]);
    upstream.tools.set('write_file', {
      definition: { inputSchema: { type: 'object', properties: { path: { type: 'string' } } } },
      call: async ({ arguments: args }) => {
        await writeFile(String(args.path), 'written');
        return { content: [] };
      },
    });
    const oauth = { issuer: provider.issuer, audiences: [AUDIENCE], scopes: ['tools'] };
    const auth = { enabled: true, tokens: [{ name: 'ci', token: STATIC }], oauth };
    collector = new OtlpReceiver();
    const endpoint = await collector.listen();
    const telemetry = {
      enabled: true,
      transport: 'http',
      endpoint: `${endpoint}/v1/metrics`,
      periodic_flush_seconds: 0.1,
      emit_logs: true,
      logs_endpoint: `${endpoint}/v1/logs`,
      traces: { enabled: true, endpoint: `${endpoint}/v1/traces` },
    };
    const adapters = [{ type: 'artifact_producer', tools: ['write_file'], output_path_argument: 'path' }];
    const servers = [mounted('up', upstream.url, { adapters })];
    deployment = await startDeployment({ config: { core: { auth }, telemetry, servers } });
    mount = `${deployment.balancer.url}/mcp/up`;
  });
  afterAll(async () => {
    await deployment?.close();
    await upstream?.close();
    await provider?.[Symbol.asyncDispose]();
    await collector?.[Symbol.asyncDispose]();
  });

  /** A token for the machine. */
  async function tokenOf(scope: string): Promise<string> {
    const answer = await fetch(`${provider.issuer}/token`, {
      method: 'POST',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        authorization: `Basic ${btoa(`${MACHINE.clientId}:${MACHINE.clientSecret}`)}`,
      },
      body: new URLSearchParams({ grant_type: 'client_credentials', scope, resource: mount }),
    });
    return ((await answer.json()) as { access_token: string }).access_token;
  }

  async function tokenOfPerson(person: string): Promise<string> {
    const authProvider = new SignedIn();
    const transport = new StreamableHTTPClientTransport(new URL(mount), { authProvider });
    await expect(new Client(INFO).connect(transport)).rejects.toThrow(UnauthorizedError);
    await transport.finishAuth(codeIn(await provider.signIn(authProvider.asked as URL, person)));
    return authProvider.tokens_?.access_token ?? '';
  }

  const post = (headers: Record<string, string>, url = mount): Promise<Response> =>
    fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: INFO },
      }),
    });
  const metadata = (): string => `${deployment.balancer.url}/.well-known/oauth-protected-resource/mcp/up`;

  const machines = [
    {
      name: '1',
      async connect() {
        // Machines of this version ask for what they are told to, not for what the challenge names.
        const options = { ...MACHINE, scope: 'tools', expectedIssuer: provider.issuer };
        const authProvider = new ClientCredentialsProvider(options);
        const client = new Client(INFO);
        await client.connect(new StreamableHTTPClientTransport(new URL(mount), { authProvider }));
        return client;
      },
    },
    ...[undefined, { mode: 'auto' as const }].map((versionNegotiation) => ({
      name: versionNegotiation === undefined ? '2, in a session' : '2, without a session',
      async connect() {
        const authProvider = new v2.ClientCredentialsProvider({ ...MACHINE, expectedIssuer: provider.issuer });
        const client = new v2.Client(INFO, { versionNegotiation });
        await client.connect(new v2.StreamableHTTPClientTransport(new URL(mount), { authProvider }));
        return client;
      },
    })),
  ];

  test.for(machines)('a machine with SDK $name finds its way from the challenge to its calls', async (sdk) => {
    const client = await sdk.connect();
    try {
      for (const mine of [1, 2, 3]) {
        // oxlint-disable-next-line no-await-in-loop -- one after another, at one replica and the other
        const result = await client.callTool({ name: 'echo', arguments: { mine } });
        expect(result).toMatchObject({ content: [{ text: JSON.stringify({ mine }) }] });
      }
    } finally {
      await client.close();
    }
  });

  test.for(['1', '2'])('a person signs in with SDK %s, and calls', async (version) => {
    const authProvider = new SignedIn();
    const options = { authProvider };
    const open = () =>
      version === '1'
        ? ([new Client(INFO), new StreamableHTTPClientTransport(new URL(mount), options)] as const)
        : ([new v2.Client(INFO), new v2.StreamableHTTPClientTransport(new URL(mount), options)] as const);
    const [refused, first] = open();
    await expect(refused.connect(first as never)).rejects.toThrow();
    const brought = await provider.signIn(authProvider.asked as URL, 'anna');
    if (first instanceof StreamableHTTPClientTransport) await first.finishAuth(codeIn(brought));
    else await first.finishAuth(brought);
    const [client, second] = open();
    await client.connect(second);
    try {
      expect(await client.callTool({ name: 'echo', arguments: {} })).toMatchObject({ content: [{ text: '{}' }] });
    } finally {
      await client.close();
    }
  });

  test('the mount is described to everybody, pages of any origin too', async () => {
    const answer = await fetch(metadata(), { headers: { origin: 'https://inspector.example' } });
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([200, '*']);
    expect(answer.headers.get('www-authenticate')).toBeNull();
    expect(await answer.json()).toEqual({
      resource: mount,
      authorization_servers: [provider.issuer],
      scopes_supported: ['tools'],
      bearer_methods_supported: ['header'],
      resource_name: 'up',
    });
    const asks = { origin: 'https://inspector.example', 'access-control-request-method': 'GET' };
    const preflight = await fetch(metadata(), { method: 'OPTIONS', headers: asks });
    expect([preflight.status, preflight.headers.get('access-control-allow-headers')]).toEqual([204, '*']);
  });

  const challenge = (more = ''): string => `Bearer resource_metadata="${metadata()}", scope="tools"${more}`;

  test.for([
    ['no token', async () => ({}), 401, () => challenge()],
    [
      'text that is no token',
      async () => ({ authorization: 'Bearer abc' }),
      401,
      () => challenge(', error="invalid_token", error_description="The token is not valid here."'),
    ],
    [
      'a token without the scope',
      async () => ({ authorization: `Bearer ${await tokenOf('files')}` }),
      403,
      () => challenge(', error="insufficient_scope", error_description="The token lacks a scope."'),
    ],
    ['a wrong token for machines', async () => ({ 'x-mcp-adapter-auth-token': 'x' }), 401, () => challenge()],
  ] as const)('%s is answered with the way to one', async ([_what, headers, status, expected]) => {
    const answer = await post(await headers());
    expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([status, expected()]);
    await answer.text();
  });

  test('T4: a token in the query is none', async () => {
    const token = await tokenOf('tools');
    expect(await drain(post({}, `${mount}?access_token=${token}`))).toBe(401);
  });

  test('the token of a machine that the configuration names goes on beside it', async () => {
    expect(await drain(post({ 'x-mcp-adapter-auth-token': STATIC }))).toBe(200);
  });

  test('T2: a session belongs to the person who opened it, whatever token they have now', async () => {
    const [first, second, other] = [
      await tokenOfPerson('anna'),
      await tokenOfPerson('anna'),
      await tokenOfPerson('bob'),
    ];
    expect(first).not.toBe(second);
    const { a, b } = deployment;
    const as = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
    const session = await openSession(a, as(first));
    const seenBy = (token: string) => knownSession(session.sessionId, '2025-11-25', as(token));
    expect(textOf(await seenBy(second).at(b).tool('echo', { mine: 1 }))).toBe('{"mine":1}');
    expect(await drain(seenBy(other).at(b).request('ping'))).toBe(404);
    expect(
      await drain(
        seenBy(await tokenOf('tools'))
          .at(b)
          .request('ping'),
      ),
    ).toBe(404);
  });

  test('T4: no token goes upstream, into a log, a file, telemetry or Redis', async () => {
    const token = await tokenOf('tools');
    const session = await openSession(deployment.a, { headers: { authorization: `Bearer ${token}` } });
    expect(textOf(await session.at(deployment.b).tool('echo'))).toBe('{}');
    await session.at(deployment.a).tool('write_file', { path: 'mine.txt' });
    const [, , signature = ''] = token.split('.');
    expect(signature).not.toBe('');
    const told = (): boolean => collector.requests.some(({ spans }) => spans.some(({ name }) => name.includes('echo')));
    await eventually(told).toBe(true);
    const files = await readdir(deployment.folder, { recursive: true, withFileTypes: true });
    const stored = files.filter((one) => one.isFile()).map((one) => readFile(join(one.parentPath, one.name), 'latin1'));
    const seen = [
      JSON.stringify(upstream.requests),
      deployment.a.stdout(),
      deployment.b.stdout(),
      JSON.stringify(collector.requests),
      ...(await Promise.all(stored)),
    ];
    const values = await allOf(deployment.redis.url);
    for (const text of [...seen, ...values]) expect(text).not.toContain(signature);
    expect(values.length).toBeGreaterThan(0);
    expect(seen).toContain('written');
  });

  test('while the issuer is away, known keys go on', async () => {
    const token = await tokenOf('tools');
    provider.away();
    try {
      expect(await drain(post({ authorization: `Bearer ${token}` }))).toBe(200);
    } finally {
      provider.back();
    }
  });
});
