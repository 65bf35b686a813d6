import { hash, timingSafeEqual } from 'node:crypto';

import { type Identity, tokenIdentity } from './identity.ts';

/** How the token of `core.auth.token` is called. */
const DEFAULT_TOKEN = 'default';

/** The tokens of the configuration (specification, section 5). */
export class StaticTokens {
  readonly #known: readonly { readonly digest: Buffer; readonly identity: Identity }[];

  constructor(auth: { readonly token: string | null; readonly tokens: readonly { name: string; token: string }[] }) {
    this.#known = [
      // Its principal is a hash of the token itself, as it was before tokens had names.
      ...(auth.token === null
        ? []
        : [{ digest: digest(auth.token), identity: tokenIdentity(DEFAULT_TOKEN, auth.token) }]),
      ...auth.tokens.map(({ name, token }) => ({
        digest: digest(token),
        identity: tokenIdentity(name, `\0token\0${name}`),
      })),
    ];
  }

  /** All are compared, and digests have one length: it takes the same time whatever was sent. */
  identity(sent: string): Identity | undefined {
    const one = digest(sent);
    let found: Identity | undefined;
    for (const known of this.#known) if (timingSafeEqual(one, known.digest)) found = known.identity;
    return found;
  }
}

const digest = (text: string): Buffer => hash('sha256', text, 'buffer');
