import type { Auth } from '../../crds/config/scraper-file/auth.ts';
import { JsonLimitError, parseJson, REQUEST_LIMITS } from '../../lib/json/json-limits.ts';
import type { ClientTls } from '../../crds/config/scraper-file/tls.ts';
import { pythonFloat } from '../records/python-float.ts';
import { numberText } from '../records/python-text.ts';
import { isJsonObject } from '../records/shape-mismatch.ts';
import { compilePath } from '../records/value-path.ts';
import { RequestFailure } from './failure.ts';
import { type HttpAnswer, type HttpClient, type HttpRequest, nameOf } from './http-client.ts';
import { formOf } from './query.ts';
import { retryAfter } from './retry-after.ts';
import type { Token } from './token-cache.ts';

const TIMEOUT_MS = 20_000;
const MAX_BYTES = 1_048_576;
const FORM = 'application/x-www-form-urlencoded';

type OAuth = Extract<Auth, { type: 'oauth' }>;
type AzureAd = Extract<Auth, { type: 'azuread' }>;

export interface TokenDependencies {
  readonly http: HttpClient;
  readonly tls: ClientTls;
  /** Of the source; `tls.serverName` is a name of that one only. */
  readonly sourceHost: string;
  readonly now: () => Date;
}

/** @throws RequestFailure of the kind `auth`, or what sending throws */
export async function fetchToken(
  auth: OAuth | AzureAd,
  { http, tls, sourceHost, now }: TokenDependencies,
  signal: AbortSignal,
): Promise<Token> {
  const parts = auth.type === 'azuread' ? azureRequest(auth) : oauthRequest(auth);
  const sameHost = new URL(parts.url).host === sourceHost;
  const request: HttpRequest = {
    ...parts,
    timeoutMs: TIMEOUT_MS,
    maxBytes: MAX_BYTES,
    tls: sameHost ? tls : { ...tls, serverName: null },
    // Who gives tokens is often somebody public, for an API within the house.
    andSystem: !sameHost,
  };
  const answer = await http.send(request, signal);
  const what = `token: ${nameOf(request)}`;
  if (answer.status < 200 || answer.status > 299) {
    // Without what it says: token endpoints like to repeat what they were sent.
    throw new RequestFailure('auth', `${what} answered ${answer.status}`, {
      status: answer.status,
      retryAfterMs: retryAfter(answer.headers['retry-after'], now()),
    });
  }
  return tokenIn(answer, what, auth.type === 'oauth' ? auth.tokenKey : null);
}

type Parts = Pick<HttpRequest, 'method' | 'url' | 'headers' | 'body'>;

function azureRequest({ tokenEndpoint, client_id, client_secret, resource }: AzureAd): Parts {
  const body = formOf({ grant_type: 'client_credentials', client_id, client_secret, resource });
  return { method: 'POST', url: tokenEndpoint, headers: { 'Content-Type': FORM }, body };
}

function oauthRequest(auth: OAuth): Parts {
  const { getTokenMethod: method, username, password, tokenHeaders, bodyData } = auth;
  const basic = Buffer.from(`${username ?? ''}:${password ?? ''}`).toString('base64');
  const headers = { ...without(tokenHeaders, 'authorization'), Authorization: `Basic ${basic}` };
  const endpoint = auth.getTokenEndpoint ?? '';
  const data: unknown = bodyData?.data;
  if (method === 'GET') {
    const query = isJsonObject(data) ? formOf(data) : '';
    const url = query === '' ? endpoint : `${endpoint}${endpoint.includes('?') ? '&' : '?'}${query}`;
    return { method, url, headers, body: undefined };
  }
  if (bodyData === null || data === undefined) return { method, url: endpoint, headers, body: undefined };
  const type = bodyData.type === 'json' ? 'application/json' : FORM;
  const body = bodyData.type === 'json' ? JSON.stringify(data) : isJsonObject(data) ? formOf(data) : rawText(data);
  return { method, url: endpoint, headers: { ...contentType(headers, type), ...headers }, body };
}

const rawText = (data: unknown): string => (typeof data === 'string' ? data : JSON.stringify(data));

const without = (headers: Readonly<Record<string, string>>, unwanted: string): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.toLowerCase() !== unwanted));

const contentType = (headers: Readonly<Record<string, string>>, type: string): Record<string, string> =>
  Object.keys(headers).some((name) => name.toLowerCase() === 'content-type') ? {} : { 'Content-Type': type };

function tokenIn(answer: HttpAnswer, what: string, tokenKey: string | null): Token {
  const body = parsed(answer.text, what);
  const atKey = tokenKey === null ? null : compilePath(tokenKey)(body, body);
  const value = textOf(atKey) || textOf(isJsonObject(body) ? body['access_token'] : null);
  const where = tokenKey === null || tokenKey === 'access_token' ? 'access_token' : `${tokenKey} or access_token`;
  if (value === '') throw new RequestFailure('auth', `${what} answered without a token at ${where}`);
  if (!/^[\t\x20-\x7E\u0080-\u00FF]+$/.test(value)) {
    throw new RequestFailure('auth', `${what} answered with a token that cannot stand in a header`);
  }
  const seconds = isJsonObject(body) ? pythonFloat(body['expires_in']) : undefined;
  const expires = seconds !== undefined && Number.isFinite(seconds) && seconds >= 0;
  return { value, expiresInMs: expires ? seconds * 1000 : undefined };
}

function parsed(text: string, what: string): unknown {
  try {
    return parseJson(text, REQUEST_LIMITS);
  } catch (error) {
    if (error instanceof JsonLimitError)
      throw new RequestFailure('auth', `${what} answered too much: ${error.message}`);
    throw new RequestFailure('auth', `${what} answered with something that is not JSON`);
  }
}

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : typeof value === 'number' ? numberText(value) : '';
