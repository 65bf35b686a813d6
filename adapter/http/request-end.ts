import type { ServerResponse } from 'node:http';

import type { FastifyRequest } from 'fastify';

import { UNMATCHED } from '../telemetry/labels.ts';
import { isInfoEnabled, type Logger, shorten } from '../telemetry/logs/logger.ts';
import { maskIds } from '../../lib/redaction/redact.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { pathOf, serverOf, PUBLIC_PATHS } from './request-path.ts';

/** What clients send may be of any length. */
const MAX_LOGGED_CHARS = 200;
/** Stands for the status of an answer that never began, because the client had gone. */
const CLIENT_GONE = 499;
const WELL_KNOWN = '/.well-known/';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What the route is called in metrics: its pattern. */
    routeGroup?: string;
    /** The server that the route belongs to; of routes that have several, it is the parameter `server`. */
    serverId?: string;
  }
}

export interface EndDeps {
  readonly logger: Logger;
  readonly telemetry: Pick<Telemetry, 'isOn' | 'request'>;
}

/** Tells log and telemetry, once, of a request whose answer has left, or whose client has. */
export function recordRequestEnd(parts: EndDeps, request: FastifyRequest, raw: ServerResponse): void {
  const { telemetry } = parts;
  const isLogged = isInfoEnabled(parts.logger);
  if (!isLogged && !telemetry.isOn) return;
  const started = performance.now();
  const sentBefore = telemetry.isOn ? sentOn(request) : 0;
  const record = (): void => {
    const ms = performance.now() - started;
    const status = raw.headersSent ? raw.statusCode : CLIENT_GONE;
    if (telemetry.isOn) observe(telemetry, request, status, ms / 1000, Math.max(0, sentOn(request) - sentBefore));
    if (isLogged) log(parts.logger, request, status, ms);
  };
  raw.once('close', () => {
    if (raw.writableFinished) record();
    // Whoever was about to answer hears it after this, and has still to say what that means.
    else queueMicrotask(record);
  });
}

/** Of a request whose path is so wrong that there is nothing more to be said of it. */
export function recordBadPath({ telemetry }: EndDeps, method: string, requestId: string): void {
  if (!telemetry.isOn) return;
  const attributes = { requestId, outcome: 'invalid_request' };
  const nothing = { seconds: 0, bytesIn: 0, bytesOut: 0 };
  telemetry.request({
    method,
    route: UNMATCHED,
    status: 400,
    attributes,
    principal: '',
    isEventStream: false,
    ...nothing,
  });
}

/** Bytes that have left on the connection, heads included. */
function sentOn({ raw }: FastifyRequest): number {
  return raw.socket?.bytesWritten ?? 0;
}

function observe(
  telemetry: EndDeps['telemetry'],
  request: FastifyRequest,
  status: number,
  seconds: number,
  bytesOut: number,
): void {
  const { method, attributes, body, headers, principal } = request;
  const { routeGroup, serverId } = request.routeOptions.config;
  telemetry.request({
    serverId: attributes.serverId ?? serverOf(request),
    method,
    route: routeGroup ?? (request.url.startsWith(WELL_KNOWN) ? `${WELL_KNOWN}*` : UNMATCHED),
    status,
    seconds,
    attributes,
    principal,
    bytesIn: Buffer.isBuffer(body) ? body.length : Number(headers['content-length'] ?? 0),
    bytesOut,
    // On a mount, nothing else is got.
    isEventStream: method === 'GET' && status === 200 && serverId !== undefined,
  });
}

function log(logger: Logger, request: FastifyRequest, status: number, ms: number): void {
  const { attributes } = request;
  // Orchestrators ask every few seconds; their questions are news only when the answer is bad.
  const level = status < 400 && PUBLIC_PATHS.has(pathOf(request)) ? 'debug' : 'info';
  logger[level](
    {
      request_id: attributes.requestId,
      trace_id: attributes.trace?.traceId,
      span_id: attributes.trace?.spanId,
      caller: attributes.caller,
      client: attributes.client,
      server_id: attributes.serverId,
      session: attributes.sessionId === undefined ? undefined : shorten(attributes.sessionId),
      http_method: request.method,
      // Masked before it is cut: most of an id would be left at the cut.
      path: attributes.serverId === undefined ? maskIds(pathOf(request)).slice(0, MAX_LOGGED_CHARS) : undefined,
      method: attributes.rpcMethod?.slice(0, MAX_LOGGED_CHARS),
      tool: attributes.tool?.slice(0, MAX_LOGGED_CHARS),
      status,
      outcome: attributes.outcome,
      reason: attributes.reason,
      ms: Math.round(ms * 100) / 100,
    },
    'request',
  );
}
