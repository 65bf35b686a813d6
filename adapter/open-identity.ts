import type { FastifyRequest } from 'fastify';

import type { AdapterConfig } from '../crds/config/adapter-file/adapter.ts';
import type { OAuth } from '../crds/config/adapter-file/core.ts';
import { effectiveServer } from '../crds/config/adapter-file/effective-server.ts';
import type { ConnectRules } from '../lib/net/guarded-connect.ts';
import type { AdapterError } from './errors.ts';
import type { ResourceDescription } from './http/resource-metadata-route.ts';
import type { Identification } from './http/server.ts';
import { type Authenticate, authenticator, noAuthentication } from './identity/authenticator.ts';
import { BearerTokens } from './identity/bearer-tokens.ts';
import { challenge } from './identity/challenge.ts';
import { IssuerClient } from './identity/issuer-client.ts';
import { IssuerKeys } from './identity/issuer-keys.ts';
import { StaticTokens } from './identity/static-tokens.ts';
import { metadataPath } from './mount/challenge.ts';

interface Server {
  readonly path: string;
  readonly oauth: OAuth | null;
  readonly authenticate: Authenticate;
}

export interface IdentityOptions {
  readonly rules: ConnectRules;
  /** A keyed hash; may throw an AdapterError. */
  readonly principal: (key: string) => string;
  /** The URL that a client has reached the adapter by, without a slash at the end. */
  readonly baseUrl: (request: FastifyRequest) => string;
  readonly log: (message: string) => void;
}

export interface OpenedIdentity extends Identification {
  /** Whether a request comes from somebody who is known, whatever it is about. */
  knows(request: FastifyRequest): Promise<boolean>;
  /** The mount of a server as a protected resource; undefined without an authorization server of its own. */
  describe(serverId: string): ResourceDescription | undefined;
  /** Reads the keys of all issuers, so that the first token does not wait for them. Never fails. */
  start(): Promise<void>;
  close(): Promise<void>;
}

/** Who may come in, as the configuration says. */
export function openIdentity(config: AdapterConfig, options: IdentityOptions): OpenedIdentity {
  const { auth, public_base_url: publicUrl } = config.core;
  const { principal, baseUrl, log } = options;
  const tokens = new StaticTokens(auth);
  const client = new IssuerClient(options.rules);
  const issuers = new Map<string, IssuerKeys>();
  const keysOf = ({ issuer, jwks_uri: jwksUri }: OAuth): IssuerKeys => {
    const name = JSON.stringify([issuer, jwksUri]);
    const known = issuers.get(name) ?? new IssuerKeys({ issuer, jwksUri, client, log });
    issuers.set(name, known);
    return known;
  };
  const authenticate = (oauth: OAuth | null, mountUrl: string | undefined): Authenticate => {
    if (!auth.enabled) return noAuthentication;
    const audiences = oauth?.audiences.length === 0 && mountUrl !== undefined ? [mountUrl] : (oauth?.audiences ?? []);
    return authenticator({
      headerName: auth.header_name,
      tokens,
      bearer: oauth === null ? undefined : new BearerTokens({ oauth, audiences, keys: keysOf(oauth), client }),
      scopes: oauth?.scopes ?? [],
    });
  };
  const servers = new Map<string, Server>(
    config.servers.map((one): [string, Server] => {
      const { id, mount_path: path, oauth } = effectiveServer(config, one);
      return [
        id,
        { path, oauth, authenticate: authenticate(oauth, publicUrl === null ? undefined : publicUrl + path) },
      ];
    }),
  );
  const anywhere = authenticate(auth.oauth, undefined);

  return {
    identify: (request, serverId) => (servers.get(serverId ?? '')?.authenticate ?? anywhere)(request.raw),
    principal: ({ key }) => (key === undefined ? '' : principal(key)),
    challenge({ code }: AdapterError, request, serverId) {
      const server = servers.get(serverId ?? '');
      if (server === undefined || server.oauth === null) return undefined;
      const metadataUrl = `${baseUrl(request)}${metadataPath(server.path)}`;
      return challenge(code, { metadataUrl, scopes: server.oauth.scopes });
    },
    async knows(request) {
      try {
        await anywhere(request.raw);
        return true;
      } catch {
        return false;
      }
    },
    describe(serverId) {
      const oauth = servers.get(serverId)?.oauth ?? null;
      if (oauth === null) return undefined;
      return {
        authorization_servers: [oauth.issuer],
        ...(oauth.scopes.length > 0 && { scopes_supported: oauth.scopes }),
        bearer_methods_supported: ['header'],
        resource_name: serverId,
      };
    },
    async start() {
      await Promise.allSettled([...issuers.values()].map((keys) => keys.load()));
    },
    close: () => client.close(),
  };
}
