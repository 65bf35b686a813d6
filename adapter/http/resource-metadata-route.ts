import type { FastifyInstance, FastifyRequest } from 'fastify';

import { AdapterError } from '../errors.ts';
import { metadataPath } from '../mount/challenge.ts';
import type { Mount } from '../mount/mount.ts';
import type { ResourceMetadata } from '../upstream/protected-resource.ts';

const CORS = { 'access-control-allow-origin': '*', 'access-control-allow-headers': '*' };

/**
 * Describes a mount as the protected resource that its clients ask tokens for (RFC 9728): `own`, or where clients
 * authenticate to the upstream themselves, as that describes itself. Open to everybody, and to pages of any origin: clients
 * read it before they have any token.
 */
export function resourceMetadataRoute(
  app: FastifyInstance,
  mount: Mount,
  own: ResourceMetadata | undefined,
  baseUrl: (request: FastifyRequest) => string,
): void {
  const { protectedResource, path, serverId } = mount;
  if (own === undefined && protectedResource === undefined) return;
  const url = metadataPath(path).replaceAll(':', '::');
  const config = { serverId, routeGroup: metadataPath('/*'), decidesItself: true };
  app.get(url, { config }, async (request, reply) => {
    const metadata = own ?? (await protectedResource?.metadata());
    if (metadata === undefined) {
      throw new AdapterError('not_found', 'The upstream server does not say who authorizes its clients.');
    }
    return reply.headers(CORS).send({ resource: `${baseUrl(request)}${path}`, ...metadata });
  });
  app.options(url, { config }, (_request, reply) => reply.code(204).headers(CORS).send());
}
