import { setTimeout as delay } from 'node:timers/promises';

import type { OAuth } from '../../crds/config/adapter-file/core.ts';
import type { ConnectRules } from '../../lib/net/guarded-connect.ts';
import { BearerTokens } from './bearer-tokens.ts';
import { IssuerClient } from './issuer-client.ts';
import { IssuerKeys, type IssuerState } from './issuer-keys.ts';

/** Between two attempts to read keys that are not known. */
const FIRST_PAUSE_MS = 5_000;
const LAST_PAUSE_MS = 60_000;

/** The authorization servers of a configuration. Mounts that name the same one share its keys. */
export class Issuers {
  readonly #client: IssuerClient;
  readonly #log: (message: string) => void;
  readonly #closing = new AbortController();
  readonly #keys = new Map<string, IssuerKeys>();

  constructor(rules: ConnectRules, log: (message: string) => void) {
    this.#client = new IssuerClient(rules);
    this.#log = log;
  }

  /** Tokens that are meant for one of these audiences. */
  tokens(oauth: OAuth, audiences: readonly string[]): BearerTokens {
    return new BearerTokens({ oauth, audiences, keys: this.#keysOf(oauth), client: this.#client });
  }

  /** In the order of the configuration. */
  get states(): IssuerState[] {
    return [...this.#keys.values()].map(({ state }) => state);
  }

  /**
   * Reads the keys of all, so that the first token does not wait for them; those of an issuer that is away again and
   * again, so that its return shows also where nobody comes in. Resolves when all are known. Never fails.
   */
  async load(): Promise<void> {
    await Promise.all([...this.#keys.values()].map((keys) => this.#loadOne(keys)));
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#client.close();
  }

  async #loadOne(keys: IssuerKeys): Promise<void> {
    const { signal } = this.#closing;
    for (let pauseMs = FIRST_PAUSE_MS; !signal.aborted; pauseMs = Math.min(2 * pauseMs, LAST_PAUSE_MS)) {
      // oxlint-disable-next-line no-await-in-loop -- one attempt after another
      await keys.load().catch(() => delay(pauseMs, undefined, { signal, ref: false }).catch(() => undefined));
      if (keys.state.keys === 'known') return;
    }
  }

  #keysOf({ issuer, jwks_uri: jwksUri }: OAuth): IssuerKeys {
    const name = JSON.stringify([issuer, jwksUri]);
    const keys = this.#keys.get(name) ?? new IssuerKeys({ issuer, jwksUri, client: this.#client, log: this.#log });
    this.#keys.set(name, keys);
    return keys;
  }
}
