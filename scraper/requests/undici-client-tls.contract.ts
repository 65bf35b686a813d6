import { writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { Auth } from '../../crds/config/scraper-file/auth.ts';
import { ClientTls } from '../../crds/config/scraper-file/tls.ts';
import { createAuthenticator } from './auth.ts';
import type { HttpAnswer, HttpClient, HttpRequest } from './http-client.ts';
import { Authority, type KeyPair } from './testing/certificates.ts';
import { json, TestServer } from './testing/test-server.ts';
import { TokenCache } from './token-cache.ts';
import { type Proxies, UndiciClient } from './undici-client.ts';

const never = new AbortController().signal;

let authority: Authority;
let other: Authority;
let local: KeyPair;
let elsewhere: KeyPair;
let user: KeyPair;
beforeAll(async () => {
  [authority, other] = await Promise.all([Authority.create(), Authority.create()]);
  local = await authority.issue('IP:127.0.0.1');
  elsewhere = await authority.issue('DNS:api.internal');
  user = await authority.issue('DNS:scraper');
});
afterAll(() => Promise.all([authority.remove(), other.remove()]));

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const part of open.splice(0).toReversed()) await part.close();
});

async function serve(pair: KeyPair, options: object = {}): Promise<TestServer> {
  const server = await TestServer.start(json({ ok: true }), { ...pair, ...options });
  open.push(server);
  return server;
}

let time = 0;
function newClient(proxies: Proxies = {}): UndiciClient {
  const client = new UndiciClient({ proxies, userAgent: 'test/1', now: () => time });
  open.push(client);
  return client;
}

const send = (
  client: UndiciClient,
  server: TestServer,
  tls: Partial<ClientTls>,
  more: Partial<HttpRequest> = {},
): Promise<HttpAnswer> => {
  const settings = ClientTls.parse(tls);
  return client.send(
    { method: 'GET', url: `${server.url}/x`, headers: {}, timeoutMs: 10_000, maxBytes: 1000, tls: settings, ...more },
    never,
  );
};

describe('the certificate of the server', () => {
  test('must come from an authority that is trusted', async () => {
    const server = await serve(local);
    const client = newClient();
    await expect(send(client, server, {})).rejects.toMatchObject({ kind: 'tls' });
    await expect(send(client, server, { ca: other.cert })).rejects.toMatchObject({ kind: 'tls' });
    expect((await send(client, server, { ca: authority.cert })).status).toBe(200);
    expect((await send(client, server, { ca: authority.cert }, { andSystem: true })).status).toBe(200);
    expect(server.requests).toHaveLength(2);
  });

  test('is not looked at with verify: false, and only by sources that say so', async () => {
    const server = await serve(local);
    const client = newClient();
    expect((await send(client, server, { verify: false })).status).toBe(200);
    await expect(send(client, server, {})).rejects.toMatchObject({ kind: 'tls' });
  });

  test('must be for the host, or for serverName', async () => {
    const server = await serve(elsewhere);
    const client = newClient();
    await expect(send(client, server, { ca: authority.cert })).rejects.toMatchObject({ kind: 'tls' });
    expect((await send(client, server, { ca: authority.cert, serverName: 'api.internal' })).status).toBe(200);
  });

  test('may be verified by a file that is replaced later', async () => {
    const server = await serve(local);
    const client = newClient();
    const caFile = join(authority.folder, 'trusted.pem');
    await writeFile(caFile, other.cert);
    await expect(send(client, server, { caFile })).rejects.toMatchObject({ kind: 'tls' });
    await writeFile(caFile, authority.cert);
    await expect(send(client, server, { caFile })).rejects.toMatchObject({ kind: 'tls' });
    time += 60_000;
    expect((await send(client, server, { caFile })).status).toBe(200);
    // A file that is being written is not used.
    await writeFile(caFile, authority.cert.slice(0, 100));
    time += 60_000;
    expect((await send(client, server, { caFile })).status).toBe(200);
  });
});

describe('the certificate of the client', () => {
  test('is shown to servers that ask for one', async () => {
    const server = await serve(local, { ca: authority.cert, requestCert: true, rejectUnauthorized: true });
    const client = newClient();
    const { cert, key } = user;
    expect((await send(client, server, { ca: authority.cert, cert, key })).status).toBe(200);
    // With TLS 1.3 the server refuses only afterwards, and undici sees no more than a closed connection.
    await expect(send(client, server, { ca: authority.cert })).rejects.toMatchObject({ name: 'RequestFailure' });
    expect(server.requests).toHaveLength(1);
  });

  test('may stand in files', async () => {
    const server = await serve(local, { ca: authority.cert, requestCert: true, rejectUnauthorized: true });
    const [certFile, keyFile] = [join(authority.folder, 'user.pem'), join(authority.folder, 'user.key')];
    await Promise.all([writeFile(certFile, user.cert), writeFile(keyFile, user.key)]);
    expect((await send(newClient(), server, { ca: authority.cert, certFile, keyFile })).status).toBe(200);
  });

  test('that does not fit its key, or cannot be read, is said without any of the key', async () => {
    const server = await serve(local);
    const client = newClient();
    const wrong = send(client, server, { cert: user.cert, key: local.key });
    await expect(wrong).rejects.toMatchObject({
      kind: 'tls',
      message: expect.stringContaining('tls: ca, cert and key'),
    });
    await expect(wrong).rejects.not.toThrow('PRIVATE');
    const missing = send(client, server, { caFile: '/nowhere/ca.pem' });
    await expect(missing).rejects.toThrow('tls.caFile: /nowhere/ca.pem cannot be read (ENOENT)');
  });
});

test('who gives tokens may be another host, of the same authority or of one that everybody trusts', async () => {
  const [api, login] = [await serve(elsewhere), await serve(await authority.issue('DNS:localhost'))];
  login.answer = json({ access_token: 't' });
  const auth = Auth.parse({
    type: 'azuread',
    client_id: 'i',
    client_secret: 's',
    tokenEndpoint: login.url.replace('127.0.0.1', 'localhost'),
    resource: 'r',
  });
  const tls = ClientTls.parse({ ca: authority.cert, serverName: 'api.internal' });
  const asked: HttpRequest[] = [];
  const client = newClient();
  const http: HttpClient = {
    send(request, signal) {
      asked.push(request);
      return client.send(request, signal);
    },
  };
  const tokens = new TokenCache(() => 0);
  const sourceHost = new URL(api.url).host;
  const authenticator = createAuthenticator(auth, { http, tls, sourceHost, now: () => new Date(), tokens });
  expect(await authenticator.headers(never)).toEqual({ Authorization: 'Bearer t' });
  expect(asked).toMatchObject([{ andSystem: true, tls: { serverName: null } }]);
});

test('https goes through a tunnel of the proxy, verified from end to end', async () => {
  const server = await serve(local);
  const tunnels: string[] = [];
  const proxy = await startTunnels(tunnels);
  const address = proxy.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const client = newClient({ httpsProxy: `http://user:s3cret@127.0.0.1:${port}` });
  expect((await send(client, server, { ca: authority.cert })).status).toBe(200);
  expect(tunnels).toEqual([`127.0.0.1:${server.port} Basic ${Buffer.from('user:s3cret').toString('base64')}`]);
  await expect(send(client, server, {})).rejects.toMatchObject({ kind: 'tls' });
});

test('a proxy for plain http is none for https', async () => {
  const server = await serve(local);
  const client = newClient({ httpProxy: 'http://127.0.0.1:1' });
  expect((await send(client, server, { ca: authority.cert })).status).toBe(200);
});

async function startTunnels(tunnels: string[]): Promise<Server> {
  const proxy = createServer();
  proxy.on('connect', (request, socket) => {
    tunnels.push(`${request.url} ${request.headers['proxy-authorization']}`);
    const [host, port] = (request.url ?? '').split(':');
    const upstream = connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      upstream.pipe(socket).pipe(upstream);
    });
    upstream.on('error', () => socket.destroy());
    socket.on('error', () => upstream.destroy());
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  open.push({
    close: async () => {
      proxy.closeAllConnections();
      await new Promise((resolve) => proxy.close(resolve));
    },
  });
  return proxy;
}
