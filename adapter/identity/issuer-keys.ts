import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey, type LocalJWKSet } from 'jose';

import { InvalidToken } from './identity.ts';
import { type IssuerClient, IssuerUnavailable } from './issuer-client.ts';

/** Keys are read again that often, in the background, so that withdrawn ones do not stay. */
const REFRESH_MS = 600_000;
/** Unknown key ids, which anybody can make up, lead to one reading in that time. */
const UNKNOWN_KEY_MS = 30_000;
/** After a reading that failed. */
const RETRY_MS = 5_000;
const MAX_KEYS = 100;

export interface IssuerKeysOptions {
  readonly issuer: string;
  /** Null: where the issuer's metadata says. */
  readonly jwksUri: string | null;
  readonly client: Pick<IssuerClient, 'get'>;
  readonly log: (message: string) => void;
  /** Monotonic milliseconds. */
  readonly now?: () => number;
}

/** `unread`: nobody has tried yet. Keys that are known go on while the issuer is away, so they stay `known`. */
export interface IssuerState {
  readonly issuer: string;
  readonly keys: 'known' | 'unread' | 'unavailable';
  readonly detail?: string;
}

/**
 * The public keys of an issuer. Known ones go on while the issuer is away, which `createRemoteJWKSet` of jose does not do,
 * and a key that is new is found at once, however short ago the others were read.
 */
export class IssuerKeys {
  readonly #options: IssuerKeysOptions;
  readonly #now: () => number;
  readonly #onWithdrawn: (() => void)[] = [];
  #keys: LocalJWKSet | undefined;
  /** What tells them apart: not the id, under which an issuer may put another key, and which it need not give. */
  #prints: ReadonlySet<string> = new Set();
  #read = -Infinity;
  #failed = -Infinity;
  #unknown = -Infinity;
  #reading: Promise<void> | undefined;
  #failure: IssuerUnavailable | undefined;

  constructor(options: IssuerKeysOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** `listener` hears when a key is there no longer: what it has signed proves nothing any more. */
  onWithdrawn(listener: () => void): void {
    this.#onWithdrawn.push(listener);
  }

  /** Whether tokens can be checked; `detail` is for those who may read errors. */
  get state(): IssuerState {
    const { issuer } = this.#options;
    if (this.#keys !== undefined) return { issuer, keys: 'known' };
    if (this.#failure === undefined) return { issuer, keys: 'unread' };
    return { issuer, keys: 'unavailable', detail: this.#failure.message };
  }

  /** Reads the keys now, whatever is known. Rejects with IssuerUnavailable. */
  async load(): Promise<void> {
    await (this.#reading ??= this.#load().finally(() => (this.#reading = undefined)));
  }

  /** Reads known keys again in the background, where it is time to; for each request, so that withdrawn ones do not stay. */
  refresh(): void {
    const now = this.#now();
    if (now - this.#read <= REFRESH_MS || now - this.#failed <= UNKNOWN_KEY_MS || this.#keys === undefined) return;
    this.load().catch(() => undefined);
  }

  /** Finds the key of a token, for jose. */
  readonly find: JWTVerifyGetKey = async (header, token) => {
    if (this.#keys === undefined) await this.#mayRead();
    else this.refresh();
    try {
      return await (this.#keys as LocalJWKSet)(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      if (this.#reading === undefined && this.#now() - this.#unknown < UNKNOWN_KEY_MS) {
        throw this.#failure ?? unknownKey(error);
      }
      if (this.#reading === undefined) this.#unknown = this.#now();
      await this.load();
      return (this.#keys as LocalJWKSet)(header, token);
    }
  };

  async #mayRead(): Promise<void> {
    if (this.#failure !== undefined && this.#now() - this.#failed < RETRY_MS) throw this.#failure;
    await this.load();
  }

  async #load(): Promise<void> {
    try {
      const set = await this.#fetch();
      const prints = new Set(set.keys.map(printOf));
      const isWithdrawn = [...this.#prints].some((print) => !prints.has(print));
      this.#keys = createLocalJWKSet(set);
      this.#prints = prints;
      this.#read = this.#now();
      this.#failure = undefined;
      if (isWithdrawn) for (const listener of this.#onWithdrawn) listener();
    } catch (error) {
      this.#failed = this.#now();
      this.#failure =
        error instanceof IssuerUnavailable ? error : new IssuerUnavailable(String(error), { cause: error });
      this.#options.log(`the keys of ${this.#options.issuer} cannot be read: ${this.#failure.message}`);
      throw this.#failure;
    }
  }

  async #fetch(): Promise<JSONWebKeySet> {
    const { client, issuer } = this.#options;
    const uri = this.#options.jwksUri ?? (await discoveredKeys(client, issuer));
    const set = await client.get(uri);
    const keys = set?.['keys'];
    if (!Array.isArray(keys)) throw new IssuerUnavailable(`there are no keys at ${uri}`);
    const known = keys.filter((key) => typeof key === 'object' && key !== null).slice(0, MAX_KEYS);
    return { keys: known };
  }
}

/** What stands in a key that decides about a signature, and by which a token finds it; all else may change. */
const printOf = ({ kid, kty, use, alg, crv, x, y, n, e, pub }: JSONWebKeySet['keys'][number]): string =>
  JSON.stringify([kid, kty, use, alg, crv, x, y, n, e, pub]);

const unknownKey = (cause: unknown): InvalidToken => new InvalidToken('the key of the token is unknown', { cause });

/** Where the metadata of an issuer may be (RFC 8414, sections 3.1 and 5; OpenID Connect Discovery 1.0, section 4). */
function metadataUrls(issuer: string): string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  return [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
    ...(path === '' ? [] : [`${origin}/.well-known/openid-configuration${path}`]),
  ];
}

async function discoveredKeys(client: Pick<IssuerClient, 'get'>, issuer: string): Promise<string> {
  for (const url of metadataUrls(issuer)) {
    // oxlint-disable-next-line no-await-in-loop -- the next one only where there is nothing at this one
    const metadata = await client.get(url);
    if (metadata === undefined) continue;
    // Anything else could be the metadata of somebody who may sign there, but not here (RFC 8414, section 3.3).
    if (metadata['issuer'] !== issuer) {
      throw new IssuerUnavailable(`${url} is the metadata of ${JSON.stringify(metadata['issuer'])}, not of ${issuer}`);
    }
    const uri = metadata['jwks_uri'];
    if (typeof uri !== 'string' || !/^https?:\/\//i.test(uri)) throw new IssuerUnavailable(`${url} names no jwks_uri`);
    return uri;
  }
  throw new IssuerUnavailable(`${issuer} has no metadata (RFC 8414, OpenID discovery)`);
}
