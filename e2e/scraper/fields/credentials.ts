import type { SeenRequest } from '../../../scraper/requests/testing/test-server.ts';
import { type FieldCase, type FieldCases, RECORDS, type Seen, slugOf, type World } from './field-case.ts';

const basic = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

/** The token endpoint is a part of the API of each source, below `/token`. */
const isToken = ({ target }: SeenRequest): boolean => /\/token\d?(\?|$)/.test(target);
const withToken = (request: SeenRequest) =>
  isToken(request) ? { body: { access_token: 'usual', data: { token: 'special' } } } : { body: RECORDS };
const tokenRequest = ({ requests }: Seen): SeenRequest | undefined => requests.find(isToken);
const header = ({ requests }: Seen, name = 'authorization'): unknown =>
  requests.find((request) => !isToken(request))?.headers[name];

/** What requests are authenticated with. */
export const authFields = ({ api }: World): FieldCases => {
  const basicCase = (field: string, value: string, expected: string): FieldCase => ({
    value,
    ...(field === 'type' ? { without: { auth: null } } : { instead: 'other' }),
    having: { auth: { type: 'basic', username: 'user', password: 'pass' } },
    shows: (seen) => header(seen) === expected,
  });
  const apiKey = { auth: { type: 'apikey', keyName: 'X-Key', keyValue: 'key' } };
  /** The address of a token endpoint differs from source to source, and so has its place in the cases. */
  const runtime = (field: string, more: Partial<FieldCase> & Pick<FieldCase, 'value' | 'shows'>): FieldCase => {
    const path = `sources[].auth(oauth).${field}`;
    const auth = (isSecond: boolean) => ({
      type: 'oauth',
      username: 'user',
      password: 'pass',
      getTokenEndpoint: `${api}/${slugOf(path, isSecond)}/token`,
      tokenKey: 'data.token',
      ...(field.startsWith('bodyData') ? { bodyData: { type: 'json', data: { a: 1 } } } : {}),
    });
    return {
      having: { auth: auth(false) },
      without: { 'auth.getTokenEndpoint': auth(true).getTokenEndpoint },
      answer: withToken,
      ...more,
    };
  };
  const azure = (field: string, more: Partial<FieldCase> & Pick<FieldCase, 'value' | 'shows'>): FieldCase => {
    const path = `sources[].auth(azuread).${field}`;
    const endpoint = (isSecond: boolean): string => `${api}/${slugOf(path, isSecond)}/token`;
    return {
      having: {
        auth: {
          type: 'azuread',
          client_id: 'id',
          client_secret: 'secret',
          tokenEndpoint: endpoint(false),
          resource: 'res',
        },
      },
      without: { 'auth.tokenEndpoint': endpoint(true) },
      answer: withToken,
      ...more,
    };
  };
  const form = (seen: Seen, name: string): string | null =>
    new URLSearchParams(tokenRequest(seen)?.body ?? '').get(name);

  return {
    'sources[].auth(basic).type': basicCase('type', 'basic', basic('user', 'pass')),
    'sources[].auth(basic).username': basicCase('username', 'zoë', basic('zoë', 'pass')),
    'sources[].auth(basic).password': basicCase('password', 'own:pass', basic('user', 'own:pass')),
    'sources[].auth(apikey).type': {
      value: 'apikey',
      having: apiKey,
      without: { auth: null },
      shows: (seen) => header(seen, 'x-key') === 'key',
    },
    'sources[].auth(apikey).keyName': {
      value: 'X-Other',
      instead: 'X-Key',
      having: apiKey,
      shows: (seen) => header(seen, 'x-other') === 'key',
    },
    'sources[].auth(apikey).keyValue': {
      value: 'Token of mine',
      instead: 'key',
      having: apiKey,
      shows: (seen) => header(seen, 'x-key') === 'Token of mine',
    },
    'sources[].auth(oauth).type': {
      value: 'oauth',
      having: { auth: { type: 'oauth', token: 'static' } },
      without: { auth: null },
      shows: (seen) => header(seen) === 'Bearer static',
    },
    'sources[].auth(oauth).token': runtime('token', {
      value: 'static',
      shows: (seen) => header(seen) === 'Bearer static' && tokenRequest(seen) === undefined,
    }),
    'sources[].auth(oauth).username': runtime('username', {
      value: 'own',
      instead: 'user',
      shows: (seen) => tokenRequest(seen)?.headers.authorization === basic('own', 'pass'),
    }),
    'sources[].auth(oauth).password': runtime('password', {
      value: 'own',
      instead: 'pass',
      shows: (seen) => tokenRequest(seen)?.headers.authorization === basic('user', 'own'),
    }),
    'sources[].auth(oauth).getTokenEndpoint': runtime('getTokenEndpoint', {
      value: `${api}/${slugOf('sources[].auth(oauth).getTokenEndpoint', false)}/token2`,
      shows: (seen) => tokenRequest(seen)?.target.endsWith('/token2') === true,
    }),
    'sources[].auth(oauth).getTokenMethod': runtime('getTokenMethod', {
      value: 'GET',
      shows: (seen) => tokenRequest(seen)?.method === 'GET',
    }),
    'sources[].auth(oauth).tokenKey': runtime('tokenKey', {
      value: 'data.token',
      instead: 'nothing',
      shows: (seen) => header(seen) === 'Bearer special',
    }),
    'sources[].auth(oauth).tokenHeaders': runtime('tokenHeaders', {
      value: { 'X-Tenant': 'mine' },
      shows: (seen) => tokenRequest(seen)?.headers['x-tenant'] === 'mine',
    }),
    'sources[].auth(oauth).bodyData.type': runtime('bodyData.type', {
      value: 'raw',
      instead: 'json',
      shows: (seen) => tokenRequest(seen)?.body === 'a=1',
    }),
    'sources[].auth(oauth).bodyData.data': runtime('bodyData.data', {
      value: { scope: 'read' },
      shows: (seen) => tokenRequest(seen)?.body === '{"scope":"read"}',
    }),
    'sources[].auth(azuread).type': {
      ...azure('type', {
        value: 'azuread',
        shows: (seen) => header(seen) === 'Bearer usual' && form(seen, 'grant_type') === 'client_credentials',
      }),
      without: { auth: null },
    },
    'sources[].auth(azuread).client_id': azure('client_id', {
      value: 'own',
      instead: 'id',
      shows: (seen) => form(seen, 'client_id') === 'own',
    }),
    'sources[].auth(azuread).client_secret': azure('client_secret', {
      value: 'own',
      instead: 'secret',
      shows: (seen) => form(seen, 'client_secret') === 'own',
    }),
    'sources[].auth(azuread).tokenEndpoint': azure('tokenEndpoint', {
      value: `${api}/${slugOf('sources[].auth(azuread).tokenEndpoint', false)}/token2`,
      shows: (seen) => tokenRequest(seen)?.target.endsWith('/token2') === true,
    }),
    'sources[].auth(azuread).resource': azure('resource', {
      value: 'https://own/',
      instead: 'res',
      shows: (seen) => form(seen, 'resource') === 'https://own/',
    }),
  };
};

/** TLS to the API, whose authority nobody knows. */
export const tlsFields = ({ tlsApi, namedTlsApi, clientsTlsApi, ca, caFile, client, stranger }: World): FieldCases => {
  const arrives = ({ points, lastError }: Seen): boolean => points.length > 0 && lastError === null;
  const tls = (settings: Record<string, unknown>, baseUrl = tlsApi) => ({ baseUrl, tls: settings });
  return {
    'sources[].tls.verify': { value: false, having: tls({}), shows: arrives },
    'sources[].tls.ca': { value: ca, having: tls({}), shows: arrives },
    'sources[].tls.caFile': { value: caFile, having: tls({}), shows: arrives },
    'sources[].tls.serverName': { value: 'api.internal', having: tls({ ca }, namedTlsApi), shows: arrives },
    'sources[].tls.cert': {
      value: client.cert,
      instead: stranger.cert,
      without: { 'tls.key': stranger.key },
      having: tls({ ca, key: client.key }, clientsTlsApi),
      shows: arrives,
    },
    'sources[].tls.certFile': {
      value: client.certFile,
      instead: stranger.certFile,
      without: { 'tls.keyFile': stranger.keyFile },
      having: tls({ ca, keyFile: client.keyFile }, clientsTlsApi),
      shows: arrives,
    },
    'sources[].tls.key': {
      value: client.key,
      instead: stranger.key,
      having: tls({ ca, cert: client.cert }, clientsTlsApi),
      shows: arrives,
    },
    'sources[].tls.keyFile': {
      value: client.keyFile,
      instead: stranger.keyFile,
      having: tls({ ca, certFile: client.certFile }, clientsTlsApi),
      shows: arrives,
    },
  };
};
