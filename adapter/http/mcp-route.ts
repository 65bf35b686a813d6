import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';

import type { ByteBudget, ByteShare } from '../byte-budget.ts';
import { AdapterError, rpcErrorText } from '../errors.ts';
import type { Gateway } from '../gateway/gateway.ts';
import type { Incoming } from '../gateway/incoming.ts';
import type { Mount } from '../gateway/turn.ts';
import { type BodyOptions, readBody } from './body-reader.ts';
import { answerEarly, askForBody, bringsLargeBody, LARGE_BYTES } from './large-body.ts';

const JSON_TYPE = /^application\/json\s*(;|$)/i;
const METHODS: HTTPMethods[] = ['POST', 'GET', 'DELETE', 'PUT', 'PATCH', 'HEAD', 'OPTIONS'];
const EMPTY = Buffer.alloc(0);
/** Who is refused anyway has so long for what little is read of it. */
const REFUSED_STALL_MS = 2_000;

export interface McpRouteOptions {
  /** `core.max_request_body_bytes` */
  readonly maxBodyBytes: number;
  /** For the bodies of all mounts. */
  readonly bodies: ByteBudget;
  /** Any failure as the error to answer with. */
  readonly known: (error: unknown) => AdapterError;
}

/** The MCP endpoint of one mounted server: POST, GET and DELETE (MCP, Streamable HTTP). */
export function mcpRoute(app: FastifyInstance, mount: Mount, gateway: Gateway, options: McpRouteOptions): void {
  app.route({
    method: METHODS,
    // find-my-way reads a colon as the start of a parameter.
    url: mount.path.replaceAll(':', '::'),
    config: { serverId: mount.serverId, routeGroup: mount.path, decidesItself: true },
    // Here, and not in the handler: fastify would read the body first.
    onRequest: (request, reply) => {
      const { method, refusal } = request;
      if (refusal !== undefined && method !== 'POST') throw refusal;
      if (method === 'POST') void new PostExchange(mount, gateway, options, request, reply).answer();
      else if (method === 'GET') void gateway.get(mount, accept(mount, request, reply));
      else if (method === 'DELETE') void gateway.delete(mount, accept(mount, request, reply));
      else {
        reply.raw.setHeader('allow', 'POST, GET, DELETE');
        throw new AdapterError('method_not_allowed');
      }
    },
    handler: () => undefined,
  });
}

/** Takes the response out of fastify's hands: answers are streamed straight to the socket. */
function accept(mount: Mount, request: FastifyRequest, reply: FastifyReply): Incoming {
  reply.hijack();
  request.facts.serverId = mount.serverId;
  const { headers, principal, facts } = request;
  return { headers, reply: reply.raw, request, principal, facts };
}

/** A POST, up to where its body is there. */
class PostExchange {
  readonly #mount: Mount;
  readonly #gateway: Gateway;
  readonly #options: McpRouteOptions;
  readonly #request: FastifyRequest;
  readonly #incoming: Incoming;

  constructor(mount: Mount, gateway: Gateway, options: McpRouteOptions, request: FastifyRequest, reply: FastifyReply) {
    this.#mount = mount;
    this.#gateway = gateway;
    this.#options = options;
    this.#request = request;
    this.#incoming = accept(mount, request, reply);
  }

  async answer(): Promise<void> {
    const share = this.#options.bodies.share();
    // A call keeps its body, to send it again when the upstream has lost its session.
    this.#incoming.reply.on('close', () => share.giveBack());
    const { refusal } = this.#request;
    let bytes;
    try {
      if (refusal !== undefined) return this.#gateway.refuse(this.#incoming, refusal, await this.#readSmall(share));
      const type = this.#request.headers['content-type'];
      if (type === undefined || !JSON_TYPE.test(type)) throw new AdapterError('unsupported_media_type');
      bytes = await this.#read(share, {
        maxBytes: this.#options.maxBodyBytes,
        beforeLarge: () => this.#gateway.largestBody(this.#mount, this.#incoming),
      });
    } catch (error) {
      share.giveBack();
      return this.#refuse(this.#options.known(error));
    }
    return this.#gateway.post(this.#mount, this.#incoming, bytes);
  }

  #read(share: ByteShare, limits: Pick<BodyOptions, 'maxBytes' | 'beforeLarge' | 'stallMs'>): Promise<Buffer> {
    const { raw } = this.#request;
    return readBody(raw, { ...limits, share, ask: () => askForBody(raw, this.#incoming.reply) });
  }

  /** The body of a request that is refused whatever it says; only for the id of the message. */
  #readSmall(share: ByteShare): Promise<Buffer> | Buffer {
    const { raw, headers } = this.#request;
    const isWorthIt = JSON_TYPE.test(headers['content-type'] ?? '') && headers.expect === undefined;
    if (!isWorthIt || bringsLargeBody(raw)) return EMPTY;
    return this.#read(share, { maxBytes: LARGE_BYTES, stallMs: REFUSED_STALL_MS }).catch(() => EMPTY);
  }

  /** Answers before the body, or all of it, is there. */
  #refuse(refusal: AdapterError): void {
    const { reply, facts } = this.#incoming;
    if (refusal.code === 'cancelled') {
      facts.outcome = 'client_closed';
      reply.destroy();
      return;
    }
    if (refusal.code !== 'request_timeout' && !bringsLargeBody(this.#request.raw)) {
      this.#gateway.refuse(this.#incoming, refusal, EMPTY);
      return;
    }
    facts.outcome = refusal.code;
    const headers = {
      'content-type': 'application/json',
      'x-request-id': facts.requestId,
      ...(refusal.retryAfter === undefined ? {} : { 'retry-after': String(refusal.retryAfter) }),
    };
    const text = rpcErrorText(refusal.code, refusal.message, 'null', refusal.data);
    answerEarly(this.#request.raw, reply, refusal.status, headers, text).catch(() => reply.destroy());
  }
}
