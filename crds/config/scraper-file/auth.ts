import { z } from 'zod';
import { headerMap, headerName, httpUrl } from '../values/network-values.ts';
import { headerValue } from './values.ts';
import { maybeEmpty, nonBlank, oneOf, text } from '../values/values.ts';

/** Section `auth` of a source. Secrets should come from the environment: `${VAR}`. */

const Basic = z.strictObject({
  type: z.literal('basic').describe('`basic`: user name and password with every request.'),
  username: text().describe('User name.'),
  password: text().describe('Password.'),
});

const ApiKey = z.strictObject({
  type: z.literal('apikey').describe('`apikey`: a key in a header.'),
  keyName: headerName().describe('Name of the header.'),
  keyValue: headerValue().describe('The key, sent as it is.'),
});

const TokenBody = z.strictObject({
  type: oneOf(['raw', 'json']).describe(
    '`json`: `data` as JSON. `raw`: a mapping as a form, a text as it is. With GET, a mapping becomes the query.',
  ),
  data: z.unknown().describe('What is sent.').optional(),
});

const OAuth = z.strictObject({
  type: z
    .literal('oauth')
    .describe(
      '`oauth`: a bearer token, either `token` or one that `getTokenEndpoint` gives for user name and password.',
    ),
  token: headerValue().describe('The token itself; it takes precedence.').nullable().prefault(null),
  username: text().describe('User name.').nullable().prefault(null),
  password: text().describe('Password.').nullable().prefault(null),
  getTokenEndpoint: httpUrl().describe('URL that gives tokens.').nullable().prefault(null),
  getTokenMethod: oneOf(['POST', 'GET']).describe('Method of this request.').prefault('POST'),
  tokenKey: nonBlank('a path such as data.token')
    .describe('Path of the token in the answer; `access_token` is tried after it.')
    .nullable()
    .prefault(null),
  tokenHeaders: maybeEmpty(headerMap().prefault({})).describe('Extra headers of this request.'),
  bodyData: TokenBody.describe('Body of this request.').nullable().prefault(null),
});

const AzureAd = z.strictObject({
  type: z.literal('azuread').describe('`azuread`: a token for a client id and secret.'),
  client_id: text().describe('Id of the application.'),
  client_secret: text().describe('Its secret.'),
  tokenEndpoint: httpUrl().describe('URL that gives tokens.'),
  resource: text().describe('Resource that the token is for.'),
});

const TYPES = 'basic, apikey, oauth, azuread';

export const Auth = z.discriminatedUnion('type', [Basic, ApiKey, OAuth, AzureAd], {
  error: ({ code }) =>
    code === 'invalid_union' ? `one of ${TYPES}` : `a mapping with a type, which is one of ${TYPES}`,
});
export type Auth = z.output<typeof Auth>;
