import type { Auth } from '../../crds/config/scraper-file/auth.ts';
import { fetchToken, type TokenDependencies } from './token-request.ts';
import { TokenCache } from './token-cache.ts';

/** How the requests of one source are authenticated. */
export interface Authenticator {
  /**
   * Headers of the next request, with a new token when one is due.
   * @throws RequestFailure when no token can be had
   */
  headers(signal: AbortSignal): Promise<Readonly<Record<string, string>>>;
  /**
   * The API did not accept these headers (401). Whether the request may be repeated with new ones; at most once, or two
   * sides that disagree about a clock would go on for ever.
   */
  rejected(headers: Readonly<Record<string, string>>): boolean;
}

export interface AuthenticatorDependencies extends TokenDependencies {
  readonly tokens: TokenCache;
}

export function createAuthenticator(auth: Auth | null, dependencies: AuthenticatorDependencies): Authenticator {
  if (auth === null) return constant({});
  if (auth.type === 'apikey') return constant({ [auth.keyName]: auth.keyValue });
  if (auth.type === 'basic') {
    const pair = Buffer.from(`${auth.username}:${auth.password}`);
    return constant({ Authorization: `Basic ${pair.toString('base64')}` });
  }
  if (auth.type === 'oauth' && auth.token) return constant(bearer(auth.token));
  return fetched(auth, dependencies);
}

const constant = (headers: Readonly<Record<string, string>>): Authenticator => ({
  headers: () => Promise.resolve(headers),
  rejected: () => false,
});

function fetched(
  auth: Extract<Auth, { type: 'oauth' | 'azuread' }>,
  dependencies: AuthenticatorDependencies,
): Authenticator {
  const { tokens, tls } = dependencies;
  const key = TokenCache.key([auth, tls]);
  return {
    async headers(signal) {
      return bearer(await tokens.get(key, (ending) => fetchToken(auth, dependencies, ending), signal));
    },
    rejected(headers) {
      tokens.reject(key, headers['Authorization']?.slice(BEARER.length) ?? '');
      return true;
    },
  };
}

const BEARER = 'Bearer ';
const bearer = (token: string): Record<string, string> => ({ Authorization: BEARER + token });
