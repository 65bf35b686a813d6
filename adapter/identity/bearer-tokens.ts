import { hash } from 'node:crypto';

import { errors, jwtVerify } from 'jose';
import { LRUCache } from 'lru-cache';

import type { OAuth } from '../../crds/config/adapter-file/core.ts';
import { claimedIdentity, type Identity, InvalidToken } from './identity.ts';
import { type IssuerClient, IssuerUnavailable } from './issuer-client.ts';
import type { IssuerKeys } from './issuer-keys.ts';

/** By which a clock of the issuer may be off, in seconds. */
const SKEW_SECONDS = 60;
const TYPES: ReadonlySet<string> = new Set(['jwt', 'at+jwt', 'application/at+jwt']);
/** Three texts of base64url parted by dots (RFC 7515, section 7.1). */
const JWS = /^[\w-]+\.[\w-]+\.[\w-]*$/;
/** Bytes of the tokens that are kept, for which their claims stand. */
const KEPT_BYTES = 8 << 20;
const MAX_REFUSED = 10_000;
const INTROSPECTED_MS = 60_000;
/** What the issuer does not know is asked again that soon at the earliest. */
const REFUSED_MS = 10_000;
const MAX_QUESTIONS = 32;

/** A verified token, and until when it proves something. */
interface Verified {
  readonly identity: Identity;
  /** Milliseconds since 1970. */
  readonly until: number;
}

export interface BearerTokensOptions {
  readonly oauth: Pick<OAuth, 'issuer' | 'algorithms' | 'introspection'>;
  readonly audiences: readonly string[];
  readonly keys: Pick<IssuerKeys, 'find' | 'onWithdrawn' | 'refresh'>;
  readonly client: Pick<IssuerClient, 'post'>;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

/**
 * Bearer tokens of one issuer, meant for some audiences (RFC 6750, RFC 9068; introspection: RFC 7662). What was verified is
 * kept by the digest of the token until it expires, so that the signature is checked once.
 */
export class BearerTokens {
  readonly #options: BearerTokensOptions;
  readonly #audiences: string[];
  readonly #now: () => number;
  readonly #verified = new LRUCache<string, Verified>({ maxSize: KEPT_BYTES });
  /** Digests of what the issuer does not know, and until when: apart, so that a flood of them displaces nothing. */
  readonly #refused = new LRUCache<string, number>({ max: MAX_REFUSED });
  readonly #asked = new Map<string, Promise<Verified>>();

  constructor(options: BearerTokensOptions) {
    this.#options = options;
    this.#audiences = [...options.audiences];
    this.#now = options.now ?? Date.now;
    options.keys.onWithdrawn(() => this.#verified.clear());
  }

  /** Who has the token; a promise only where that is not known yet. Fails with InvalidToken or IssuerUnavailable. */
  identity(token: string): Identity | Promise<Identity> {
    const digest = hash('sha256', token, 'base64');
    const kept = this.#verified.get(digest);
    if (kept !== undefined && this.#now() < kept.until) {
      this.#options.keys.refresh();
      return kept.identity;
    }
    return this.#verify(token, digest);
  }

  async #verify(token: string, digest: string): Promise<Identity> {
    const verified = JWS.test(token) ? await this.#verifyJwt(token) : await this.#ask(token, digest);
    this.#verified.set(digest, verified, { size: token.length });
    return verified.identity;
  }

  async #verifyJwt(token: string): Promise<Verified> {
    const { issuer, algorithms } = this.#options.oauth;
    try {
      const { payload, protectedHeader } = await jwtVerify(token, this.#options.keys.find, {
        algorithms: [...algorithms],
        issuer,
        audience: this.#audiences,
        clockTolerance: SKEW_SECONDS,
        currentDate: new Date(this.#now()),
        requiredClaims: ['exp'],
      });
      const { typ } = protectedHeader;
      if (typ !== undefined && !TYPES.has(typ.toLowerCase())) throw new InvalidToken('it is no access token (typ)');
      return this.#trusted(payload, Infinity);
    } catch (error) {
      if (error instanceof IssuerUnavailable || error instanceof InvalidToken) throw error;
      if (error instanceof errors.JOSEError || error instanceof TypeError)
        throw new InvalidToken(error.message, { cause: error });
      throw error;
    }
  }

  /** One question for each token at a time. */
  #ask(token: string, digest: string): Promise<Verified> {
    const asked = this.#asked.get(digest);
    if (asked !== undefined) return asked;
    if (this.#now() < (this.#refused.get(digest) ?? 0)) throw inactive();
    const { introspection } = this.#options.oauth;
    if (introspection === null) throw new InvalidToken('the token is no JWT');
    if (this.#asked.size >= MAX_QUESTIONS) throw new IssuerUnavailable('too many tokens are being asked about');
    const answer = this.#introspect(token, digest, introspection).finally(() => this.#asked.delete(digest));
    this.#asked.set(digest, answer);
    return answer;
  }

  async #introspect(
    token: string,
    digest: string,
    introspection: NonNullable<OAuth['introspection']>,
  ): Promise<Verified> {
    const { endpoint, client_id: id, client_secret: secret } = introspection;
    const { issuer } = this.#options.oauth;
    const answer = await this.#options.client.post(endpoint, { token, token_type_hint: 'access_token' }, [id, secret]);
    if (answer === undefined) throw new IssuerUnavailable(`${endpoint} refuses to be asked by ${id}`);
    const { active, iss, aud, exp, nbf } = answer;
    const seconds = this.#now() / 1000;
    const audiences = typeof aud === 'string' ? [aud] : Array.isArray(aud) ? aud : [];
    const isGood =
      active === true &&
      (iss === undefined || iss === issuer) &&
      audiences.some((one) => this.#audiences.includes(one as string)) &&
      (exp === undefined || (typeof exp === 'number' && exp + SKEW_SECONDS > seconds)) &&
      (nbf === undefined || (typeof nbf === 'number' && nbf - SKEW_SECONDS <= seconds));
    if (!isGood) {
      this.#refused.set(digest, this.#now() + REFUSED_MS);
      throw inactive();
    }
    return this.#trusted(answer, INTROSPECTED_MS);
  }

  #trusted(claims: Readonly<Record<string, unknown>>, mostMs: number): Verified {
    const { exp, iat } = claims;
    const now = this.#now();
    if (iat !== undefined && !(typeof iat === 'number' && iat - SKEW_SECONDS <= now / 1000)) {
      throw new InvalidToken('the token is from the future (iat)');
    }
    const expires = typeof exp === 'number' ? (exp + SKEW_SECONDS) * 1000 : Infinity;
    return { identity: claimedIdentity(this.#options.oauth.issuer, claims), until: Math.min(expires, now + mostMs) };
  }
}

const inactive = (): InvalidToken => new InvalidToken('the token is not active, or not meant for this server');
