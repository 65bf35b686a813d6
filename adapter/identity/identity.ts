/** Who is calling, as a credential has proved it. Of a credential itself nothing is kept. */
export interface Identity {
  /** What tells principals apart; sessions, files and pins belong to its keyed hash. Undefined: nobody in particular. */
  readonly key: string | undefined;
  /** As rules and the audit log name it: `user:<sub>`, `client:<id>` or `token:<name>`; '' without authentication. */
  readonly name: string;
  /** The client that got the token (`client_id`, `azp`), where the token says. */
  readonly client: string | undefined;
  readonly scopes: ReadonlySet<string>;
  /** Whether another token of the same caller could have more scopes. */
  readonly hasScopes: boolean;
  /** What the token says; {} for tokens of the configuration. */
  readonly claims: Readonly<Record<string, unknown>>;
}

/** Everybody, while authentication is off. */
export const ANYBODY: Identity = {
  key: undefined,
  name: '',
  client: undefined,
  scopes: new Set(),
  hasScopes: false,
  claims: {},
};

/** The principal of a token of the configuration. */
export const tokenIdentity = (name: string, key: string): Identity => ({ ...ANYBODY, key, name: `token:${name}` });

/** Longer subjects and ids are no names any more. */
const MAX_NAME_CHARS = 255;

/** A token that proves nothing: 401 with `error="invalid_token"` (RFC 6750, section 3.1). */
export class InvalidToken extends Error {
  override readonly name = 'InvalidToken';
}

/**
 * Whom the claims of a verified token name (RFC 9068, section 2.2; RFC 7662, section 2.2): the subject, or the client that
 * acts for itself. Throws InvalidToken where they name nobody.
 */
export function claimedIdentity(issuer: string, claims: Readonly<Record<string, unknown>>): Identity {
  const subject = nameIn(claims, 'sub');
  const client = nameIn(claims, 'client_id') ?? nameIn(claims, 'azp');
  const isMachine = client !== undefined && (subject === undefined || subject === client);
  const id = isMachine ? client : subject;
  if (id === undefined) throw new InvalidToken('the token names neither a subject nor a client');
  const kind = isMachine ? 'client' : 'user';
  // No header can hold a NUL, so no token of the configuration has such a key.
  const scopes = scopesOf(claims);
  return { key: `\0${kind}\0${issuer}\0${id}`, name: `${kind}:${id}`, client, scopes, hasScopes: true, claims };
}

function nameIn(claims: Readonly<Record<string, unknown>>, claim: string): string | undefined {
  const value = claims[claim];
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string' && value !== '' && value.length <= MAX_NAME_CHARS) return value;
  throw new InvalidToken(`the claim ${claim} is not a text of 1 to ${MAX_NAME_CHARS} characters`);
}

/** A list parted by spaces (RFC 8693, section 4.2), or, as Okta and Entra write it, `scp`: that or an array. */
function scopesOf({ scope, scp }: Readonly<Record<string, unknown>>): ReadonlySet<string> {
  const given = [scope, scp].flatMap((one) =>
    Array.isArray(one) ? one : typeof one === 'string' ? one.split(' ') : [],
  );
  return new Set(given.filter((one) => typeof one === 'string' && one !== ''));
}
