import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Auth } from '../../crds/config/scraper-file/auth.ts';
import { ClientTls } from '../../crds/config/scraper-file/tls.ts';
import { loadScraper, scraperSampleWith } from '../../crds/config/testing/scraper-sample.ts';
import { compileDataKey } from '../records/data-key.ts';
import { parseJson } from '../records/json-body.ts';
import { createAuthenticator } from './auth.ts';
import type { RequestFailure } from './failure.ts';
import { type FetchDependencies, type Page, pages } from './fetch-window.ts';
import { inTurn, json, TestServer } from './testing/test-server.ts';
import { TokenCache } from './token-cache.ts';
import { UndiciClient } from './undici-client.ts';

const never = new AbortController().signal;
const WINDOW = { start: new Date('2025-11-28T10:15:00Z'), end: new Date('2025-11-28T10:20:00Z') };
const NOW = new Date('2025-11-28T10:30:00Z');

let server: TestServer;
let http: UndiciClient;
let tokens: TokenCache;
let taken: string[];
beforeEach(async () => {
  server = await TestServer.start(json([]));
  http = new UndiciClient({ proxies: {}, userAgent: 'test/1' });
  tokens = new TokenCache(() => performance.now());
  taken = [];
});
afterEach(async () => {
  tokens.close();
  await http.close();
  await server.close();
});

interface Options {
  readonly signal?: AbortSignal;
  readonly secrets?: readonly string[];
}

function fetch(values: Record<string, unknown> = {}, { signal = never, secrets = [] }: Options = {}) {
  const { scraper, sources } = loadScraper(
    scraperSampleWith({
      'scraper.enforceTls': false,
      'source.baseUrl': server.url,
      'source.scrape.rangeKeys': {},
      ...values,
    }),
  );
  const [source] = sources;
  if (source === undefined) throw new Error('the sample has no source');
  const now = (): Date => NOW;
  const sourceHost = new URL(source.baseUrl).host;
  const dependencies: FetchDependencies = {
    settings: scraper,
    http,
    auth: createAuthenticator(source.auth, { http, tls: source.tls, sourceHost, now, tokens }),
    rateLimiter: { take: async (url) => void taken.push(url) },
    parse: (text) => parseJson(text, { exact: true }),
    records: compileDataKey(source.dataKey, source.dataKeyRequired),
    secrets: () => secrets,
    now,
  };
  return pages(source, WINDOW, dependencies, signal);
}

async function all(values: Record<string, unknown> = {}, options: Options = {}): Promise<Page[]> {
  const found: Page[] = [];
  for await (const page of fetch(values, options)) found.push(page);
  return found;
}

async function failure(values: Record<string, unknown> = {}, options: Options = {}): Promise<RequestFailure> {
  const failed = await all(values, options).then(
    () => undefined,
    (error: unknown) => error as RequestFailure,
  );
  if (failed?.name !== 'RequestFailure') throw failed ?? new Error('the request did not fail');
  expect(failed.message).not.toMatch(/s3cret/);
  return failed;
}

const PAGING = 'source.scrape.pagination';

test('a window without pages is one request', async () => {
  server.answer = json({ data: [{ a: 1 }, { a: 2 }] });
  const found = await all({
    'source.dataKey': 'data',
    'source.scrape.rangeKeys': { startKey: 'from', endKey: 'to', dateFormat: '%s' },
    'source.scrape.extraHeaders': { 'X-Team': 'a' },
  });
  expect(found).toEqual([{ body: { data: [{ a: 1 }, { a: 2 }] }, held: 0, records: [{ a: 1 }, { a: 2 }], bytes: 26 }]);
  expect(server.targets).toEqual(['/v1/events?from=1764324900&to=1764325200']);
  expect(server.requests[0]?.headers).toMatchObject({ 'x-team': 'a' });
  expect(taken).toEqual([`${server.url}/v1/events?from=1764324900&to=1764325200`]);
});

describe('faults of the API', () => {
  test.each([
    ['429', json({ error: 'slow' }, 429, { 'retry-after': '7' }), { kind: 'status', status: 429, retryAfterMs: 7000 }],
    [
      '503',
      json('', 503, { 'retry-after': 'Fri, 28 Nov 2025 10:31:00 GMT' }),
      { kind: 'status', status: 503, retryAfterMs: 60_000 },
    ],
    ['500', json({ error: 'x' }, 500), { kind: 'status', status: 500, retryAfterMs: undefined }],
    ['401', json({}, 401), { kind: 'status', status: 401 }],
  ])('%s', async (_name, answer, expected) => {
    server.answer = answer;
    expect(await failure()).toMatchObject(expected);
  });

  test('a redirect is a failure that names where to, without what may be secret in it', async () => {
    server.answer = (_request, response) =>
      void response.writeHead(302, { location: 'https://login.example.com/?state=s3cret' }).end();
    expect(await failure()).toMatchObject({
      status: 302,
      message: `GET ${server.url}/v1/events answered 302 (redirects are not followed: https://login.example.com)`,
    });
    expect(server.requests).toHaveLength(1);
  });

  test.each([
    ['cut off', '[{"a":1},{"a":', 'not_json'],
    ['a page for people', '<!doctype html><p>s3cret', 'not_json'],
    ['empty', '', 'not_json'],
    ['of another shape', '{"s3cret":[]}', 'shape'],
    ['null', 'null', 'shape'],
    ['a scalar', '7', 'shape'],
  ])('an answer that is %s', async (_name, text, kind) => {
    server.answer = (_request, response) => void response.end(text);
    expect(await failure()).toMatchObject({ kind });
  });

  describe('an answer of status 200 that says an error', () => {
    const paged = {
      'source.dataKey': 'data.items',
      'source.scrape.pagination': { type: 'nextLink', from: 'body', linkKey: 'next' },
    };
    beforeEach(() => {
      server.answer = (request, response) => {
        const isFirst = !request.target.includes('page=2');
        const body = isFirst
          ? { data: { items: [{ id: 'a' }] }, next: '/v1/events?page=2' }
          : { error: { code: 429, message: 's3cret' } };
        return json(body)(request, response);
      };
    });

    test('has no records and no next page, as in the original', async () => {
      expect((await all(paged)).map(({ records }) => records)).toEqual([[{ id: 'a' }], []]);
    });

    test('is a failure where dataKeyRequired is true', async () => {
      const failed = await failure({ ...paged, 'source.dataKeyRequired': true });
      expect(failed).toMatchObject({ kind: 'shape', message: expect.stringContaining('has nothing at data') });
      expect(failed.message).not.toContain('s3cret');
    });
  });

  test('an answer without content', async () => {
    server.answer = (_request, response) => void response.writeHead(204).end();
    expect(await failure()).toMatchObject({
      kind: 'not_json',
      message: expect.stringContaining('answered 204, empty'),
    });
  });

  test('silence, and an answer that is too large', async () => {
    server.answer = json(['x'.repeat(100)]);
    expect(await failure({ 'source.scrape.maxResponseBytes': 50 })).toMatchObject({ kind: 'too_large' });
    server.answer = () => {};
    expect(await failure({ 'source.scrape.timeout': '1s' })).toMatchObject({ kind: 'timeout' });
  });
});

test('what an API says about an error is shown, but no secret that it repeats', async () => {
  const password = 's3cret "é';
  const basic = Buffer.from(`u:${password}`).toString('base64');
  server.answer = ({ headers }, response) => {
    const said = { error: 'no such user', got: headers.authorization, password, query: encodeURIComponent(password) };
    response.writeHead(403).end(`${JSON.stringify(said)}\n${'more '.repeat(100)}`);
  };
  const { message } = await failure(
    { 'source.auth': { type: 'basic', username: 'u', password } },
    { secrets: [password] },
  );
  expect(message).toContain('answered 403: {"error":"no such user","got":"<redacted>","password":"<redacted>"');
  expect(message).not.toContain(basic);
  expect(message.length).toBeLessThan(300);
});

describe('plain http', () => {
  test('is refused while TLS is enforced, before anything is sent', async () => {
    expect(await failure({ 'scraper.enforceTls': true })).toMatchObject({ kind: 'refused' });
    expect(server.requests).toEqual([]);
    expect(taken).toEqual([]);
  });

  test('also as an endpoint of its own', async () => {
    const values = { 'source.baseUrl': 'https://h', 'source.endpoint': `HTTP://127.0.0.1:${server.port}/x` };
    expect(await failure({ ...values, 'scraper.enforceTls': true })).toMatchObject({ kind: 'refused' });
  });
});

describe('pages by link', () => {
  const linked = (records: unknown[], next?: string) => json(records, 200, next === undefined ? {} : { link: next });

  test('in the header', async () => {
    server.answer = inTurn(
      linked([1], '</v1/events?page=2&x=a:b>; rel="next"'),
      linked([2, 3], `<${server.url}/v1/events?page=3>; rel="next"`),
      linked([4], '</v1/events?page=1>; rel="first"'),
    );
    const found = await all({ [PAGING]: { type: 'nextLink' }, 'source.scrape.extraArgs': { a: 1 } });
    expect(found.flatMap(({ records }) => records)).toEqual([1, 2, 3, 4]);
    expect(server.targets).toEqual(['/v1/events?a=1', '/v1/events?page=2&x=a:b', '/v1/events?page=3']);
  });

  test('in the body', async () => {
    server.answer = inTurn(
      json({ items: [1], paging: { next: '?after=2' } }),
      json({ items: [2], paging: { next: null } }),
    );
    const found = await all({
      [PAGING]: { type: 'nextLink', from: 'body', linkKey: 'paging.next' },
      'source.dataKey': '.',
    });
    expect(found).toHaveLength(2);
    expect(server.targets).toEqual(['/v1/events', '/v1/events?after=2']);
  });

  test('to another host is refused, so that credentials go nowhere else', async () => {
    const other = await TestServer.start(json([2]));
    try {
      const auth = { type: 'apikey', keyName: 'X-Key', keyValue: 's3cret' };
      server.answer = linked([1], `<${other.url}/x?t=s3cret>; rel="next"`);
      expect(await failure({ [PAGING]: { type: 'nextLink' }, 'source.auth': auth })).toMatchObject({ kind: 'refused' });
      expect(other.requests).toEqual([]);
    } finally {
      await other.close();
    }
  });

  describe('T21: to another host with sameHost: false', () => {
    const SECRETS = ['s3cret-auth', 's3cret-header', 's3cret-cookie', 's3cret-user', 's3cret-argument'];
    const encoded = [
      ...SECRETS,
      Buffer.from('u:s3cret-user').toString('base64'),
      Buffer.from('u:s3cret-auth').toString('base64'),
    ];
    const extraHeaders = { 'X-Team-Token': 's3cret-header', Cookie: 'id=s3cret-cookie', Accept: 'application/json' };
    const extraArgs = { api_key: 's3cret-argument', limit: 5 };

    test.each<[name: string, auth: Record<string, string> | null, method: string]>([
      ['a key in a header', { type: 'apikey', keyName: 'X-Key', keyValue: 's3cret-auth' }, 'GET'],
      ['a password', { type: 'basic', username: 'u', password: 's3cret-auth' }, 'GET'],
      ['a token', { type: 'oauth', token: 's3cret-auth' }, 'GET'],
      ['user and password of the URL', null, 'GET'],
      ['parameters in a body', { type: 'apikey', keyName: 'X-Key', keyValue: 's3cret-auth' }, 'POST'],
    ])('no credentials go there: %s', async (_name, auth, method) => {
      const other = await TestServer.start(json([2], 200));
      try {
        server.answer = linked([1], `<${other.url}/x?page=2>; rel="next"`);
        const found = await all({
          [PAGING]: { type: 'nextLink', sameHost: false },
          'source.auth': auth,
          'source.baseUrl': server.url.replace('//', '//u:s3cret-user@'),
          'source.scrape.extraHeaders': extraHeaders,
          'source.scrape.extraArgs': extraArgs,
          'source.scrape.httpMethod': method,
        });
        expect(found.map(({ records }) => records)).toEqual([[1], [2]]);
        const [request] = other.requests;
        expect(request?.target).toBe('/x?page=2');
        const sent = JSON.stringify(request);
        expect(encoded.filter((secret) => sent.includes(secret))).toEqual([]);
        expect(request?.headers).not.toHaveProperty('authorization');
        expect(request?.headers).toMatchObject({ accept: 'application/json' });
        if (method === 'POST') expect(JSON.parse(request?.body ?? '')).toEqual({ limit: 5 });
        // To its own host it went.
        expect(JSON.stringify(server.requests)).toContain('s3cret-header');
      } finally {
        await other.close();
      }
    });

    test('no certificate of the client goes there, and who is public is trusted; its own host gets all', async () => {
      const other = await TestServer.start(json([2]));
      try {
        server.answer = linked([1], `<${other.url}/x>; rel="next"`);
        const sent = vi.spyOn(http, 'send');
        const own = {
          verify: true,
          serverName: 'inner',
          certFile: null,
          cert: 'c',
          keyFile: null,
          key: 'k',
          caFile: null,
          ca: 'a',
        };
        const files = {
          verify: true,
          serverName: 'inner',
          certFile: 'c',
          cert: null,
          keyFile: 'k',
          key: null,
          caFile: 'a',
          ca: null,
        };
        for (const tls of [own, files]) {
          // They are no certificates, so nothing is sent with them; what would be is looked at.
          sent.mockImplementation((request, signal) =>
            UndiciClient.prototype.send.call(http, { ...request, tls: ClientTls.parse({}) }, signal),
          );
          await all({ [PAGING]: { type: 'nextLink', sameHost: false }, 'source.tls': tls });
          const none = { serverName: null, certFile: null, cert: null, keyFile: null, key: null };
          expect(sent.mock.calls.splice(0).map(([{ tls, andSystem }]) => ({ ...tls, andSystem }))).toEqual([
            { ...tls, andSystem: false },
            { ...tls, ...none, andSystem: true },
          ]);
        }
      } finally {
        await other.close();
      }
    });

    test('a token is not renewed because it is refused there', async () => {
      const other = await TestServer.start(json({}, 401));
      try {
        const linking = linked([1], `<${other.url}/x>; rel="next"`);
        server.answer = (request, response) =>
          (request.target === '/token' ? json({ access_token: 't' }) : linking)(request, response);
        const auth = {
          type: 'azuread',
          client_id: 'i',
          client_secret: 's',
          resource: 'r',
          tokenEndpoint: `${server.url}/token`,
        };
        await failure({ [PAGING]: { type: 'nextLink', sameHost: false }, 'source.auth': auth });
        expect(other.requests).toHaveLength(1);
      } finally {
        await other.close();
      }
    });

    test('a refusal there says nothing about the credentials', async () => {
      const other = await TestServer.start(json({}, 401));
      try {
        server.answer = linked([1], `<${other.url}/x>; rel="next"`);
        const auth = { type: 'basic', username: 'u', password: 's3cret' };
        const failed = await failure({ [PAGING]: { type: 'nextLink', sameHost: false }, 'source.auth': auth });
        expect(failed).toMatchObject({ kind: 'status', status: 401 });
        expect(other.requests).toHaveLength(1);
      } finally {
        await other.close();
      }
    });
  });

  test('that leads back to the page itself ends with no records, and fails with some', async () => {
    const self = '</v1/events>; rel="next"';
    server.answer = linked([], self);
    expect(await all({ [PAGING]: { type: 'nextLink' } })).toHaveLength(1);
    server.answer = linked([1], self);
    expect(await failure({ [PAGING]: { type: 'nextLink' } })).toMatchObject({ kind: 'pages' });
  });

  test('that is none', async () => {
    const paging = { [PAGING]: { type: 'nextLink', from: 'body', linkKey: 'next' }, 'source.dataKey': '.' };
    for (const next of ['http://', 'ftp://h/x', { href: '/x' }]) {
      server.answer = json({ next });
      expect(await failure(paging)).toMatchObject({ kind: 'shape' });
    }
  });
});

describe('pages by cursor', () => {
  const paging = { [PAGING]: { type: 'cursor', cursorKey: 'meta.next', cursorParam: 'cursor' }, 'source.dataKey': 'r' };
  const page = (next: unknown) => json({ r: [{}], meta: { next } });

  test('until there is none', async () => {
    server.answer = inTurn(page('a+b/c='), page(7), page(''));
    expect(await all({ ...paging, 'source.scrape.extraArgs': { a: 1 } })).toHaveLength(3);
    expect(server.targets).toEqual(['/v1/events?a=1', '/v1/events?a=1&cursor=a%2Bb%2Fc%3D', '/v1/events?a=1&cursor=7']);
  });

  test.each([null, false, undefined])('%j ends them', async (next) => {
    server.answer = page(next);
    expect(await all(paging)).toHaveLength(1);
  });

  test('of more digits than a double has', async () => {
    server.answer = inTurn(
      (_request, response) => void response.end('{"r":[{}],"meta":{"next":12345678901234567890}}'),
      page(null),
    );
    await all(paging);
    expect(server.targets[1]).toBe('/v1/events?cursor=12345678901234567890');
  });

  test('that repeats itself fails rather than go on for ever', async () => {
    server.answer = page('same');
    expect(await failure(paging)).toMatchObject({ kind: 'pages' });
    expect(server.requests).toHaveLength(2);
  });

  test('in a POST body', async () => {
    server.answer = inTurn(page('a'), page(null));
    await all({ ...paging, 'source.scrape.httpMethod': 'POST', 'source.scrape.extraArgs': { q: 'x' } });
    expect(server.requests.map(({ body }) => body)).toEqual(['{"q":"x"}', '{"q":"x","cursor":"a"}']);
  });
});

describe('pages by number and by offset', () => {
  const pageOf = (count: number) => json(Array.from({ length: count }, () => ({})));

  test('until one is empty', async () => {
    server.answer = inTurn(pageOf(2), pageOf(2), pageOf(0));
    expect(await all({ [PAGING]: { type: 'page', firstPage: 0 } })).toHaveLength(3);
    expect(server.targets).toEqual([0, 1, 2].map((page) => `/v1/events?page=${page}`));
  });

  test('or has fewer records than its size', async () => {
    server.answer = inTurn(pageOf(2), pageOf(1));
    await all({ [PAGING]: { type: 'page', pageParam: 'p', sizeParam: 'per_page', pageSize: 2 } });
    expect(server.targets).toEqual([1, 2].map((page) => `/v1/events?p=${page}&per_page=2`));
  });

  test('an offset goes on by what came', async () => {
    server.answer = inTurn(pageOf(3), pageOf(2), pageOf(0));
    await all({ [PAGING]: { type: 'offset', offsetParam: 'skip', sizeParam: 'limit' } });
    expect(server.targets).toEqual([0, 3, 5].map((offset) => `/v1/events?skip=${offset}`));
    server.requests.length = 0;
    server.answer = inTurn(pageOf(3), pageOf(1));
    await all({ [PAGING]: { type: 'offset', sizeParam: 'limit', pageSize: 3 } });
    expect(server.targets).toEqual([0, 3].map((offset) => `/v1/events?offset=${offset}&limit=3`));
  });

  test('more of them than allowed fail, because the rest would be lost', async () => {
    server.answer = pageOf(1);
    expect(await failure({ [PAGING]: { type: 'page', maxPages: 3 } })).toMatchObject({ kind: 'pages' });
    expect(server.requests).toHaveLength(3);
    server.answer = inTurn(pageOf(1), pageOf(1), pageOf(0));
    expect(await all({ [PAGING]: { type: 'page', maxPages: 3 } })).toHaveLength(3);
  });

  test('a page is asked for only when the last has been taken', async () => {
    server.answer = pageOf(1);
    const some = fetch({ [PAGING]: { type: 'page' } });
    await some.next();
    await some.next();
    expect(server.requests).toHaveLength(2);
    await some.return();
  });
});

test('who gives up gets their own reason, in the middle of a request, too', async () => {
  const controller = new AbortController();
  const reason = new Error('stopping');
  server.answer = () => controller.abort(reason);
  await expect(all({}, { signal: controller.signal })).rejects.toBe(reason);
});

describe('a token that is rejected', () => {
  const auth = (url: string): Auth => ({
    type: 'azuread',
    client_id: 'i',
    client_secret: 's3cret',
    tokenEndpoint: `${url}/token`,
    resource: 'r',
  });
  const withTokens =
    (accepts: (token: string) => boolean): TestServer['answer'] =>
    ({ target, headers }, response) => {
      const issued = server.targets.filter((each) => each === '/token').length;
      if (target === '/token') return json({ access_token: `s3cret-${issued}`, expires_in: '3600' })(...none(response));
      const ok = accepts(headers.authorization?.replace('Bearer s3cret-', '') ?? '');
      return json(
        ok ? [{}] : { got: headers.authorization?.replace('Bearer ', '') },
        ok ? 200 : 401,
      )(...none(response));
    };
  const none = (response: Parameters<TestServer['answer']>[1]): Parameters<TestServer['answer']> => [
    { method: '', target: '', headers: {}, body: '' },
    response,
  ];

  test('is renewed once, and the request repeated', async () => {
    server.answer = withTokens((token) => token === '2');
    expect(await all({ 'source.auth': auth(server.url) })).toHaveLength(1);
    expect(server.targets).toEqual(['/token', '/v1/events', '/token', '/v1/events']);
    await all({ 'source.auth': auth(server.url) });
    expect(server.targets.slice(4)).toEqual(['/v1/events']);
  });

  test('twice is a failure that does not show it', async () => {
    server.answer = withTokens(() => false);
    expect(await failure({ 'source.auth': auth(server.url) })).toMatchObject({ kind: 'status', status: 401 });
    expect(server.targets).toHaveLength(4);
    expect(taken).toHaveLength(2);
  });
});

test('the headers of authentication overrule others, in whatever case', async () => {
  await all({
    'source.scrape.extraHeaders': { AUTHORIZATION: 'mine', 'x-b': '1' },
    'source.auth': { type: 'oauth', token: 't' },
  });
  expect(server.requests[0]?.headers).toMatchObject({ authorization: 'Bearer t', 'x-b': '1' });
});
