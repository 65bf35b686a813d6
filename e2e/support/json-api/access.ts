import type { IncomingHttpHeaders } from 'node:http';

/** Who may ask. */
export type Access =
  | { readonly kind: 'open' }
  | { readonly kind: 'basic'; readonly username: string; readonly password: string }
  | { readonly kind: 'key'; readonly header: string; readonly value: string }
  /** Bearer tokens, which `/token` gives to those who send these credentials in the named way. */
  | {
      readonly kind: 'token';
      readonly username: string;
      readonly password: string;
      /** `basic`: with HTTP Basic; `form`: as `client_id` and `client_secret` of a form. */
      readonly by: 'basic' | 'form';
      /** Seconds; said in the answer. */
      readonly expiresIn?: number;
    };

const basic = (username: string, password: string): string =>
  `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;

/** Checks requests, and gives tokens. */
export class Doorkeeper {
  readonly #access: Access;
  readonly #valid = new Set<string>();
  #given = 0;

  constructor(access: Access) {
    this.#access = access;
  }

  /** How many tokens it has given. */
  get tokensGiven(): number {
    return this.#given;
  }

  lets(headers: IncomingHttpHeaders): boolean {
    const access = this.#access;
    switch (access.kind) {
      case 'basic':
        return headers.authorization === basic(access.username, access.password);
      case 'key':
        return headers[access.header.toLowerCase()] === access.value;
      case 'token':
        return this.#valid.has(headers.authorization ?? '');
      default:
        return true;
    }
  }

  /** The answer to a request for a token; undefined: it is refused. */
  token(headers: IncomingHttpHeaders, body: string): object | undefined {
    const access = this.#access;
    if (access.kind !== 'token') return undefined;
    const form = new URLSearchParams(body);
    const isKnown =
      access.by === 'basic'
        ? headers.authorization === basic(access.username, access.password)
        : form.get('client_id') === access.username && form.get('client_secret') === access.password;
    if (!isKnown) return undefined;
    this.#given += 1;
    const token = `issued-token-${this.#given}`;
    this.#valid.add(`Bearer ${token}`);
    return { access_token: token, ...(access.expiresIn !== undefined && { expires_in: access.expiresIn }) };
  }

  /** All tokens become invalid, although they have not expired. */
  revoke(): void {
    this.#valid.clear();
  }
}
