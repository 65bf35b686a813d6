import type { FastifyRequest } from 'fastify';

import { type Authenticate, authenticator, noAuthentication } from '../authenticator.ts';
import type { Identity } from '../identity.ts';
import { StaticTokens } from '../static-tokens.ts';

/** One token in the header X-Token, or nothing that is asked for. */
export function sampleIdentification(token?: string, principal = 'hash of the token') {
  const authenticate: Authenticate =
    token === undefined
      ? noAuthentication
      : authenticator({
          headerName: 'X-Token',
          tokens: new StaticTokens({ token, tokens: [] }),
          bearer: undefined,
          scopes: [],
        });
  return {
    identify: ({ raw }: FastifyRequest) => authenticate(raw),
    principal: ({ key }: Identity) => (key === undefined ? '' : principal),
    challenge: () => undefined,
    access: () => undefined,
  };
}
