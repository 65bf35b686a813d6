import type { ServerResponse } from 'node:http';
import { put } from '../../../crds/config/testing/adapter-config.ts';
import type { SeenRequest } from '../../../scraper/requests/testing/test-server.ts';
import type { Markers } from './markers.ts';

/** How an API that gives back everything it was sent can fail. */
export const FAILURES = ['works', 'denies', 'breaks', 'moved', 'chatter', 'shape', 'away', 'hangs', 'next'] as const;
export type Failure = (typeof FAILURES)[number];

const echoOf = (request: SeenRequest): string =>
  JSON.stringify({ said: `${request.method} ${request.target}`, headers: request.headers, body: request.body });
/** The same as an application would write it into a page, which begins with what is most interesting. */
const pageOf = ({ headers, target, body }: SeenRequest): string =>
  `${headers.authorization ?? ''} ${decoded(target)} ${Object.values(headers).join(' ')}\n${body}`;

function decoded(target: string): string {
  try {
    return decodeURIComponent(target);
  } catch {
    return target;
  }
}

/** Answers of the API at `/<failure>/…`: whatever it was sent is in them. */
export function fail(request: SeenRequest, response: ServerResponse): void {
  const [, failure = ''] = request.target.split(/[/?]/);
  const echo = echoOf(request);
  const page = pageOf(request);
  const send = (status: number, text: string, headers: Record<string, string> = {}): void =>
    void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
  switch (failure as Failure) {
    case 'denies':
      return send(401, echo, { 'www-authenticate': page.replaceAll(/[^\x20-\x7E]/g, ' ') });
    case 'breaks':
      return send(500, page);
    case 'moved':
      return send(302, echo, { location: `https://other.example.com/${encodeURIComponent(page)}` });
    case 'chatter':
      return send(200, page);
    case 'shape':
      return send(200, echo);
    case 'hangs':
      return;
    case 'next':
      return send(200, '[{"v":1}]', { link: `<https://other.example.com/?t=${encodeURIComponent(page)}>; rel="next"` });
    default:
      return send(200, '[{"v":1,"id":1}]');
  }
}

/** Ways to authenticate, and other places of secrets in a source. */
const KINDS: Readonly<Record<string, (plant: Plant, tokens: string) => Record<string, unknown>>> = {
  basic: (plant) => ({ auth: { type: 'basic', username: 'user', password: plant('password') } }),
  apikey: (plant) => ({ auth: { type: 'apikey', keyName: 'X-Api-Key', keyValue: plant('keyValue') } }),
  scheme: (plant) => ({ auth: { type: 'apikey', keyName: 'Authorization', keyValue: `Token ${plant('keyValue')}` } }),
  static: (plant) => ({ auth: { type: 'oauth', token: plant('token') } }),
  runtime: (plant, tokens) => ({
    auth: {
      type: 'oauth',
      username: 'user',
      password: plant('password'),
      getTokenEndpoint: `${tokens}?client_secret=${plant('endpoint', true)}`,
      tokenKey: 'a.token',
      tokenHeaders: { 'X-Tenant': plant('tokenHeaders') },
      bodyData: { type: 'json', data: { client_secret: plant('data'), scope: 'read' } },
    },
  }),
  raw: (plant, tokens) => ({
    auth: {
      type: 'oauth',
      username: 'user',
      password: plant('password'),
      getTokenEndpoint: tokens,
      tokenKey: 'token',
      bodyData: { type: 'raw', data: plant('data') },
    },
  }),
  query: (plant, tokens) => ({
    auth: {
      type: 'oauth',
      username: 'user',
      password: plant('password'),
      getTokenEndpoint: tokens,
      getTokenMethod: 'GET',
      tokenKey: 'token',
      bodyData: { type: 'raw', data: { api_key: plant('data') } },
    },
  }),
  azure: (plant, tokens) => ({
    auth: {
      type: 'azuread',
      client_id: 'id',
      client_secret: plant('client_secret'),
      tokenEndpoint: tokens,
      resource: 'r',
    },
  }),
  headers: (plant) => ({
    'scrape.extraHeaders': {
      'X-Api-Key': plant('name'),
      'X-Other': `Bearer ${plant('value')}`,
      'X-Tenant': plant('tenant'),
    },
  }),
  arguments: (plant) => ({
    'scrape.extraArgs': {
      api_key: plant('encoded'),
      access_token: { noEncodeValue: plant('raw') },
      secret: [plant('list')],
    },
  }),
  // These two are put where they belong below.
  userinfo: () => ({}),
  search: () => ({}),
  post: (plant) => ({ 'scrape.httpMethod': 'POST', 'scrape.extraArgs': { password: plant('body') } }),
};

type Plant = (place: string, plain?: boolean) => string;

/** Sources of every kind with every failure; their names are `<kind> <failure>`. */
export function mines(markers: Markers, api: string, tokens: string): object[] {
  return Object.entries(KINDS).flatMap(([kind, fieldsOf]) =>
    FAILURES.map((failure) => {
      const name = `${kind} ${failure}`;
      const plant: Plant = (place, plain) => markers.plant(`${name} ${place}`, plain);
      const source = {
        name,
        frequency: '1h',
        baseUrl: failure === 'away' ? 'http://127.0.0.1:1' : api,
        endpoint: `/${failure}`,
        runFirstScrape: true,
        scrape: {
          type: 'instant',
          timeout: '1s',
          retry: { maxAttempts: 2, initialDelay: '1s', maxDelay: '1s' },
          pagination: { type: 'nextLink' },
        },
        gaugeReadings: [{ name: 'g', dataKey: 'v' }],
      };
      if (kind === 'userinfo') source.baseUrl = source.baseUrl.replace('//', `//user:${plant('userinfo', true)}@`);
      if (kind === 'search') source.endpoint += `?api_key=${plant('search', true)}&signature=${plant('second', true)}`;
      for (const [path, value] of Object.entries(fieldsOf(plant, `${tokens}/${kind}/${failure}`)))
        put(source, path, value);
      return source;
    }),
  );
}

/** Answers of a token endpoint at `/token/<kind>/<failure>`; the tokens themselves are secrets, too. */
export function giveToken(markers: Markers, request: SeenRequest, response: ServerResponse, count: number): void {
  const [, , kind = '', failure = ''] = request.target.split(/[/?]/);
  const send = (status: number, text: string): void => void response.writeHead(status).end(text);
  // Some do not give any.
  if (failure === 'hangs') return send(401, echoOf(request));
  if (failure === 'away') return send(200, pageOf(request));
  if (failure === 'shape') return send(200, echoOf(request));
  const token = `QZtoken${kind}${failure}${count}x7KqV`;
  markers.know(`${kind} ${failure} token ${count}`, token);
  return send(200, JSON.stringify({ token, a: { token }, access_token: token, expires_in: 1 }));
}
