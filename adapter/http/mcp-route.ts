import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';

import type { ByteAccount, ByteShare } from '../byte-account.ts';
import { AdapterError, rpcErrorText } from '../errors.ts';
import type { ServerResponse } from 'node:http';

import type { HttpCaller } from '../callers/http-caller.ts';
import type { Caller } from '../path/caller.ts';
import type { Mount } from '../mount/mount.ts';
import { type BodyReceiver, readBody } from './body-reader.ts';
import { answerEarly, askForBody, bringsLargeBody } from './large-body.ts';
import { LARGE_BODY_BYTES, REQUEST_BYTES } from '../limits.ts';

const JSON_TYPE = /^application\/json\s*(;|$)/i;
const METHODS: HTTPMethods[] = ['POST', 'GET', 'DELETE', 'PUT', 'PATCH', 'HEAD', 'OPTIONS'];
const EMPTY = Buffer.alloc(0);
/** Who is refused anyway has so long for what little is read of it. */
const REFUSED_STALL_MS = 2_000;

export interface McpRouteOptions {
  /** `core.max_request_body_bytes` */
  readonly maxBodyBytes: number;
  /** Of all mounts. */
  readonly account: ByteAccount;
  /** Any failure as the error to answer with. */
  readonly known: (error: unknown) => AdapterError;
}

/** The MCP endpoint of one mounted server: POST, GET and DELETE (MCP, Streamable HTTP). */
export function mcpRoute(app: FastifyInstance, mount: Mount, door: HttpCaller, options: McpRouteOptions): void {
  app.route({
    method: METHODS,
    // find-my-way reads a colon as the start of a parameter.
    url: mount.path.replaceAll(':', '::'),
    config: { serverId: mount.serverId, routeGroup: mount.path, decidesItself: true },
    // Here, and not in the handler: fastify would read the body first.
    onRequest: (request, reply) => {
      const { method, refusal } = request;
      if (refusal !== undefined && method !== 'POST') throw refusal;
      if (method === 'POST') new PostExchange(mount, door, options, request, reply).start();
      else if (method === 'GET') door.get(reply.raw, accept(mount, options.account, request, reply));
      else if (method === 'DELETE') void door.delete(reply.raw, accept(mount, options.account, request, reply));
      else {
        reply.raw.setHeader('allow', 'POST, GET, DELETE');
        throw new AdapterError('method_not_allowed');
      }
    },
    handler: () => undefined,
  });
}

/** Takes the response out of fastify's hands: answers are streamed straight to the socket. */
function accept(mount: Mount, account: ByteAccount, request: FastifyRequest, reply: FastifyReply): Caller {
  reply.hijack();
  request.attributes.serverId = mount.serverId;
  const { headers, principal, access, attributes } = request;
  const session = headers['mcp-session-id'];
  const holder = account.of({
    server: mount.serverId,
    session: typeof session === 'string' ? session : undefined,
    connection: request.raw.socket,
  });
  return { headers, request, principal, access, holder, attributes };
}

/** A POST, up to where its body is there. */
class PostExchange implements BodyReceiver {
  readonly maxBytes: number;
  readonly share: ByteShare;
  readonly stallMs: number | undefined;
  readonly #door: HttpCaller;
  readonly #options: McpRouteOptions;
  readonly #request: FastifyRequest;
  readonly #reply: ServerResponse;
  readonly #caller: Caller;
  /** Is taken by what a request takes beside its body. */
  readonly #place: ByteShare;

  constructor(mount: Mount, door: HttpCaller, options: McpRouteOptions, request: FastifyRequest, reply: FastifyReply) {
    const isRefused = request.refusal !== undefined;
    this.maxBytes = isRefused ? LARGE_BODY_BYTES : options.maxBodyBytes;
    this.stallMs = isRefused ? REFUSED_STALL_MS : undefined;
    this.#door = door;
    this.#options = options;
    this.#request = request;
    this.#reply = reply.raw;
    this.#caller = accept(mount, options.account, request, reply);
    this.share = this.#caller.holder.share('bodies');
    this.#place = this.#caller.holder.share('requests');
  }

  start(): void {
    // A call keeps its body, to send it again when the upstream has lost its session.
    this.#reply.on('close', () => {
      this.share.giveBack();
      this.#place.giveBack();
    });
    if (!this.#place.take(REQUEST_BYTES)) {
      this.failed(new AdapterError('overloaded', 'Too many requests are under way; try again.', { retryAfter: 1 }));
      return;
    }
    const { raw, headers, refusal } = this.#request;
    const isJson = JSON_TYPE.test(headers['content-type'] ?? '');
    if (refusal === undefined) {
      if (isJson) readBody(raw, this);
      else this.failed(new AdapterError('unsupported_media_type'));
      return;
    }
    // Whatever it says; only for the id of the message.
    if (isJson && headers.expect === undefined && !bringsLargeBody(raw)) readBody(raw, this);
    else this.received(EMPTY);
  }

  ask(): void {
    askForBody(this.#request.raw, this.#reply);
  }

  largest(): Promise<number> {
    return this.#door.largestBody(this.#caller);
  }

  received(body: Buffer): void {
    const { refusal } = this.#request;
    if (refusal === undefined) this.#door.post(this.#reply, this.#caller, body);
    else this.#door.refuse(this.#reply, this.#caller, refusal, body);
  }

  failed(error: unknown): void {
    this.share.giveBack();
    if (this.#request.refusal === undefined) this.#refuse(this.#options.known(error));
    else this.received(EMPTY);
  }

  /** Answers before the body, or all of it, is there. */
  #refuse(refusal: AdapterError): void {
    const reply = this.#reply;
    const { attributes } = this.#caller;
    if (refusal.code === 'cancelled') {
      attributes.outcome = 'client_closed';
      reply.destroy();
      return;
    }
    if (refusal.code !== 'request_timeout' && !bringsLargeBody(this.#request.raw)) {
      this.#door.refuse(this.#reply, this.#caller, refusal, EMPTY);
      return;
    }
    attributes.outcome = refusal.code;
    const headers = {
      'content-type': 'application/json',
      'x-request-id': attributes.requestId,
      ...(refusal.retryAfter === undefined ? {} : { 'retry-after': String(refusal.retryAfter) }),
    };
    const text = rpcErrorText(refusal.code, refusal.message, 'null', refusal.data);
    answerEarly(this.#request.raw, reply, refusal.status, headers, text).catch(() => reply.destroy());
  }
}
