import type { ConnectionOptions } from 'node:tls';

/** Where the API server is and who we are there. */
export interface Connection {
  /** `https://10.96.0.1:443`, with a path when the API server stands behind one. */
  readonly server: string;
  readonly tls: Pick<
    ConnectionOptions,
    'ca' | 'cert' | 'key' | 'pfx' | 'passphrase' | 'rejectUnauthorized' | 'servername'
  >;
  /** `authorization`, impersonation. */
  readonly headers: Readonly<Record<string, string>>;
  /** An HTTP proxy on the way. */
  readonly proxyUrl?: string;
}

export interface Credentials {
  /** As they are now: tokens and certificates on disk change while we run. Cheap enough to be asked for each request. */
  current(): Promise<Connection>;
  /** The API server refused what `current` gave last (401): the next `current` reads or fetches anew. */
  renew(): void;
}

/**
 * How long tokens and certificates are used without a look at their files. The kubelet renews a token when a fifth of
 * its life is left, minutes before the old one ends.
 */
const FRESH_MS = 10_000;

/** Asks `load` at most every 10 s; many requests at once share one load, and a failed one is not kept. */
export function refreshed(load: (renew: boolean) => Promise<Connection>, now: () => number): Credentials {
  let loaded: { readonly at: number; readonly connection: Promise<Connection> } | undefined;
  let renewing = false;
  return {
    current() {
      if (loaded !== undefined && now() - loaded.at < FRESH_MS) return loaded.connection;
      const connection = load(renewing);
      renewing = false;
      const mine = { at: now(), connection };
      loaded = mine;
      connection.catch(() => {
        if (loaded === mine) loaded = undefined;
      });
      return connection;
    },
    renew() {
      loaded = undefined;
      renewing = true;
    },
  };
}
