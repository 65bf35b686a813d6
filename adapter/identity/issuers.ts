import type { OAuth } from '../../crds/config/adapter-file/core.ts';
import type { ConnectRules } from '../../lib/net/guarded-connect.ts';
import { BearerTokens } from './bearer-tokens.ts';
import { IssuerClient } from './issuer-client.ts';
import { IssuerKeys } from './issuer-keys.ts';

/** The authorization servers of a configuration. Mounts that name the same one share its keys. */
export class Issuers {
  readonly #client: IssuerClient;
  readonly #log: (message: string) => void;
  readonly #keys = new Map<string, IssuerKeys>();

  constructor(rules: ConnectRules, log: (message: string) => void) {
    this.#client = new IssuerClient(rules);
    this.#log = log;
  }

  /** Tokens that are meant for one of these audiences. */
  tokens(oauth: OAuth, audiences: readonly string[]): BearerTokens {
    return new BearerTokens({ oauth, audiences, keys: this.#keysOf(oauth), client: this.#client });
  }

  /** Reads the keys of all, so that the first token does not wait for them. Never fails. */
  async load(): Promise<void> {
    await Promise.allSettled([...this.#keys.values()].map((keys) => keys.load()));
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  #keysOf({ issuer, jwks_uri: jwksUri }: OAuth): IssuerKeys {
    const name = JSON.stringify([issuer, jwksUri]);
    const keys = this.#keys.get(name) ?? new IssuerKeys({ issuer, jwksUri, client: this.#client, log: this.#log });
    this.#keys.set(name, keys);
    return keys;
  }
}
