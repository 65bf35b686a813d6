import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

import { AdapterError } from '../errors.ts';
import type { Gateway } from '../gateway/gateway.ts';
import type { Incoming } from '../gateway/incoming.ts';
import type { Mount } from '../gateway/turn.ts';

const EMPTY = Buffer.alloc(0);
const JSON_TYPE = /^application\/json\s*(;|$)/i;

/** The MCP endpoint of one mounted server: POST, GET and DELETE (MCP, Streamable HTTP). */
export function mcpRoute(app: FastifyInstance, mount: Mount, gateway: Gateway): void {
  // find-my-way reads a colon as the start of a parameter.
  const path = mount.path.replaceAll(':', '::');
  const of = { config: { serverId: mount.serverId, routeGroup: mount.path } };

  app.post(path, of, (request, reply) => {
    const type = request.headers['content-type'];
    if (type === undefined || !JSON_TYPE.test(type)) throw new AdapterError('unsupported_media_type');
    const incoming = accept(mount, request, reply);
    void gateway.post(mount, incoming, Buffer.isBuffer(request.body) ? request.body : EMPTY);
  });
  app.get(path, of, (request, reply) => void gateway.get(mount, accept(mount, request, reply)));
  app.delete(path, of, (request, reply) => void gateway.delete(mount, accept(mount, request, reply)));
  app.route({
    method: ['PUT', 'PATCH', 'HEAD', 'OPTIONS'],
    url: path,
    ...of,
    handler: (_request, reply) => {
      void reply.header('allow', 'POST, GET, DELETE');
      throw new AdapterError('method_not_allowed');
    },
  });
}

/** Takes the response out of fastify's hands: answers are streamed straight to the socket. */
function accept(mount: Mount, request: FastifyRequest, reply: FastifyReply): Incoming {
  reply.hijack();
  request.facts.serverId = mount.serverId;
  const { headers, principal, facts } = request;
  return { headers, reply: reply.raw, request, principal, facts };
}
