import type { FastifyInstance } from 'fastify';

import { AdapterError } from '../errors.ts';
import { metadataPath } from '../mount/challenge.ts';
import type { Mount } from '../mount/mount.ts';
import type { Reached } from './base-url.ts';

/**
 * Describes a mount as the protected resource that its clients ask tokens for (RFC 9728): the authorization servers are
 * those of the upstream. Open without the adapter's own token, as clients read it before they have any.
 */
export function resourceMetadataRoute(app: FastifyInstance, mount: Mount, baseUrl: (request: Reached) => string): void {
  const { protectedResource, path, serverId } = mount;
  if (protectedResource === undefined) return;
  const config = { serverId, routeGroup: metadataPath('/*'), decidesItself: true };
  app.get(metadataPath(path).replaceAll(':', '::'), { config }, async (request, reply) => {
    if (request.refusal !== undefined && request.refusal.code !== 'unauthorized') throw request.refusal;
    const metadata = await protectedResource.metadata();
    if (metadata === undefined) {
      throw new AdapterError('not_found', 'The upstream server does not say who authorizes its clients.');
    }
    return reply.send({ resource: `${baseUrl(request)}${path}`, ...metadata });
  });
}
