import type { FastifyInstance } from 'fastify';

import type { ByteAccount } from '../byte-account.ts';
import type { AdapterError } from '../errors.ts';
import type { FileDeps } from './file-deps.ts';
import { fileRoutes } from './file-routes.ts';
import type { Gateway } from '../gateway/gateway.ts';
import { proxyAddresses } from '../http/connections.ts';
import { healthRoute, type HealthSource } from '../http/health-route.ts';
import type { HostNames } from '../http/host-names.ts';
import { mcpRoute } from '../http/mcp-route.ts';
import { OriginPolicy } from '../http/origin.ts';
import { resourceMetadataRoute } from '../http/resource-metadata-route.ts';
import type { RunningDownloads } from '../http/running-downloads.ts';
import { createServer } from '../http/server.ts';
import type { Mount } from '../mount/mount.ts';
import type { OpenedIdentity } from './open-identity.ts';
import type { Caller } from '../path/caller.ts';
import type { Logger } from '../telemetry/logs/logger.ts';

export interface ClientPortDeps extends HealthSource {
  readonly files: FileDeps;
  readonly identity: OpenedIdentity;
  readonly mounts: readonly Mount[];
  readonly gateway: Gateway;
  readonly downloads: RunningDownloads;
  readonly account: ByteAccount;
  /** Under which address the client of a request reaches the adapter. */
  readonly baseUrl: (request: Caller['request']) => string;
  readonly isDraining: () => boolean;
  readonly known: (error: unknown) => AdapterError;
  readonly logger: Logger;
}

/** What clients reach, and all its routes; nothing listens yet. `host`: where it is going to. */
export function clientPort(host: string, hosts: HostNames, parts: ClientPortDeps): FastifyInstance {
  const { files, identity, mounts, gateway, known, logger } = parts;
  const { core } = files.config;
  const mountPaths = new Set(mounts.map((mount) => mount.path));
  const app = createServer({
    identification: identity,
    hosts,
    origins: new OriginPolicy(core.cors, { publicBaseUrl: core.public_base_url, boundHost: host }),
    trustedProxies: core.trusted_proxies,
    connections: {
      max: core.max_connections,
      perPeer: core.max_connections_per_peer,
      isProxy: proxyAddresses(core.trusted_proxies),
      warn: (message) => logger.warn(message),
    },
    isDraining: parts.isDraining,
    isMount: (path) => mountPaths.has(path),
    logger,
    telemetry: files.telemetry,
  });
  healthRoute(app, parts, async (request) => {
    const isAuthenticated = await identity.knows(request);
    return { isAuthenticated, mayRead: hosts.isOwn(request.headers.host) || (core.auth.enabled && isAuthenticated) };
  });
  const bodyOptions = { maxBodyBytes: core.max_request_body_bytes, account: parts.account, known };
  for (const mount of mounts) {
    mcpRoute(app, mount, gateway.http(mount), bodyOptions);
    resourceMetadataRoute(app, mount, identity.describe(mount.serverId), parts.baseUrl);
  }
  const stepUp: OpenedIdentity['stepUp'] = (...asked) => identity.stepUp(...asked);
  fileRoutes(app, { ...files, downloads: parts.downloads, stepUp, known });
  return app;
}
