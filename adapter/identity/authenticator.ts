import type { IncomingMessage } from 'node:http';

import { AdapterError } from '../errors.ts';
import type { BearerTokens } from './bearer-tokens.ts';
import { ANYBODY, type Identity, InvalidToken } from './identity.ts';
import { IssuerUnavailable } from './issuer-client.ts';
import type { StaticTokens } from './static-tokens.ts';

/** A token of `Authorization: Bearer` (RFC 6750, section 2.1). Those in queries and forms are none. */
const BEARER = /^Bearer +([\w.~+/-]+=*) *$/i;

/** Who may come in at a mount, or at what belongs to all of them. */
export interface AuthenticatorOptions {
  /** `core.auth.header_name` */
  readonly headerName: string;
  readonly tokens: StaticTokens;
  /** Undefined where no authorization server is configured. */
  readonly bearer: BearerTokens | undefined;
  /** Scopes that every token must have. */
  readonly scopes: readonly string[];
}

export type Authenticate = (request: Pick<IncomingMessage, 'headers' | 'rawHeaders'>) => Identity | Promise<Identity>;

/** Everybody. */
export const noAuthentication: Authenticate = () => ANYBODY;

/**
 * Who sends a request: by a token of the configuration in its header, or else by one of the authorization server. Fails with
 * an AdapterError; `data.error` is what a challenge says (RFC 6750, section 3.1).
 */
export function authenticator({ headerName, tokens, bearer, scopes }: AuthenticatorOptions): Authenticate {
  const name = headerName.toLowerCase();
  const missing = `The header ${headerName} is missing or wrong.`;
  return ({ headers, rawHeaders }) => {
    const sent = headers[name];
    const known = typeof sent === 'string' ? tokens.identity(sent) : undefined;
    if (known !== undefined) return known;
    if (bearer === undefined || (sent !== undefined && name !== 'authorization')) {
      throw new AdapterError('unauthorized', missing);
    }
    const { authorization } = headers;
    if (authorization === undefined) throw new AdapterError('unauthorized', 'A token is required.');
    if (isTwice(rawHeaders)) throw new AdapterError('ambiguous_credentials');
    const token = BEARER.exec(authorization)?.[1];
    if (token === undefined) throw invalid('The header Authorization has no bearer token.');
    try {
      const identity = bearer.identity(token);
      if (identity instanceof Promise) return identity.then((one) => withScopes(one, scopes), fail);
      return withScopes(identity, scopes);
    } catch (error) {
      return fail(error);
    }
  };
}

/** Of two, node keeps the first, and a proxy may have looked at the other. */
function isTwice(rawHeaders: readonly string[]): boolean {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) if (/^authorization$/i.test(rawHeaders[at] ?? '')) count += 1;
  return count > 1;
}

function withScopes(identity: Identity, scopes: readonly string[]): Identity {
  for (const scope of scopes) {
    if (identity.scopes.has(scope)) continue;
    throw new AdapterError('insufficient_scope', `The token lacks the scope ${scope}.`);
  }
  return identity;
}

function fail(error: unknown): never {
  if (error instanceof InvalidToken) throw invalid('The token is not valid here.', error);
  if (error instanceof IssuerUnavailable) throw new AdapterError('issuer_unavailable', undefined, { cause: error });
  throw error;
}

const invalid = (detail: string, cause?: unknown): AdapterError => new AdapterError('invalid_token', detail, { cause });
