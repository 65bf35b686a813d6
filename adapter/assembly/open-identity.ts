import type { FastifyRequest } from 'fastify';

import type { AdapterConfig } from '../../crds/config/adapter-file/adapter.ts';
import type { OAuth } from '../../crds/config/adapter-file/core.ts';
import { effectiveServer } from '../../crds/config/adapter-file/effective-server.ts';
import type { ConnectRules } from '../../lib/net/guarded-connect.ts';
import type { Access } from '../access/access.ts';
import { AccessRules } from '../access/access-rules.ts';
import type { AdapterError } from '../errors.ts';
import type { Identification } from '../http/server.ts';
import { type Authenticate, authenticator, noAuthentication } from '../identity/authenticator.ts';
import { challenge } from '../identity/challenge.ts';
import type { IssuerState } from '../identity/issuer-keys.ts';
import { StaticTokens } from '../identity/static-tokens.ts';
import type { Caller } from '../path/caller.ts';
import { metadataPath } from '../mount/challenge.ts';
import type { ResourceMetadata } from '../upstream/protected-resource.ts';

interface Server {
  readonly path: string;
  readonly oauth: OAuth | null;
  readonly authenticate: Authenticate;
  /** Undefined: everybody who comes in may do everything. */
  readonly rules: AccessRules | undefined;
  /** All that are of use there. */
  readonly scopes: readonly string[];
}

export interface IdentityOptions {
  readonly rules: ConnectRules;
  /** A keyed hash; may throw an AdapterError. */
  readonly principal: (key: string) => string;
  /** The URL that a client has reached the adapter by, without a slash at the end. */
  readonly baseUrl: (request: Caller['request']) => string;
  readonly log: (message: string) => void;
}

export interface OpenedIdentity extends Identification {
  /** Whether a request comes from somebody who is known, whatever it is about. */
  knows(request: FastifyRequest): Promise<boolean>;
  /** A challenge that asks for one more scope; undefined where there is no authorization server. */
  stepUp(serverId: string, request: Caller['request'], scope: string): string | undefined;
  /** The mount of a server as a protected resource; undefined without an authorization server of its own. */
  describe(serverId: string): ResourceMetadata | undefined;
  /** Whether the keys of each issuer are known; undefined where none is configured. */
  issuers(): IssuerState[] | undefined;
  /** Reads the keys of all issuers, until they are known. Never fails. */
  start(): Promise<void>;
  close(): Promise<void>;
}

/** Who may come in, as the configuration says. */
export async function openIdentity(config: AdapterConfig, options: IdentityOptions): Promise<OpenedIdentity> {
  const { auth, public_base_url: publicUrl } = config.core;
  const { principal, baseUrl, log } = options;
  const tokens = new StaticTokens(auth);
  const resolved = config.servers.map((one) => effectiveServer(config, one));
  const usesOAuth = auth.enabled && [auth, ...resolved].some(({ oauth }) => oauth !== null);
  // What checks signatures takes 30 ms to load, which most configurations have no use for.
  const issuers = usesOAuth ? new (await import('../identity/issuers.ts')).Issuers(options.rules, log) : undefined;
  const authenticate = (oauth: OAuth | null, audiences: readonly string[]): Authenticate => {
    if (!auth.enabled) return noAuthentication;
    return authenticator({
      headerName: auth.header_name,
      tokens,
      bearer: oauth === null ? undefined : issuers?.tokens(oauth, audiences),
      scopes: oauth?.scopes ?? [],
    });
  };
  const servers = new Map<string, Server>(
    resolved.map(({ id, mount_path: path, oauth, access }): [string, Server] => {
      const { audiences = [] } = oauth ?? {};
      const isDefault = audiences.length === 0 && publicUrl !== null;
      const known = authenticate(oauth, isDefault ? [publicUrl + path] : audiences);
      const rules = access === null ? undefined : new AccessRules(access);
      const scopes = [...new Set([...(oauth?.scopes ?? []), ...(rules?.scopes ?? [])])];
      return [id, { path, oauth, authenticate: known, rules, scopes }];
    }),
  );
  const metadataUrl = ({ path }: Server, request: Caller['request']): string =>
    `${baseUrl(request)}${metadataPath(path)}`;
  const anywhere = authenticate(auth.oauth, auth.oauth?.audiences ?? []);

  return {
    identify: (request, serverId) => (servers.get(serverId ?? '')?.authenticate ?? anywhere)(request.raw),
    principal: ({ key }) => (key === undefined ? '' : principal(key)),
    challenge({ code }: AdapterError, request, serverId) {
      const server = servers.get(serverId ?? '');
      if (server === undefined || server.oauth === null) return undefined;
      return challenge(code, { metadataUrl: metadataUrl(server, request), scopes: server.scopes });
    },
    access: (identity, serverId): Access | undefined => servers.get(serverId ?? '')?.rules?.of(identity),
    stepUp(serverId, request, scope) {
      const server = servers.get(serverId);
      if (server === undefined || server.oauth === null) return undefined;
      // Clients ask for what stands there, and must not lose what every request needs.
      const asked = [...new Set([...server.oauth.scopes, scope])];
      return challenge('insufficient_scope', { metadataUrl: metadataUrl(server, request), scopes: asked });
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
      const { oauth = null, scopes = [] } = servers.get(serverId) ?? {};
      if (oauth === null) return undefined;
      return {
        authorization_servers: [oauth.issuer],
        ...(scopes.length > 0 && { scopes_supported: scopes }),
        bearer_methods_supported: ['header'],
        resource_name: serverId,
      };
    },
    issuers: () => issuers?.states,
    start: async () => issuers?.load(),
    close: async () => issuers?.close(),
  };
}
