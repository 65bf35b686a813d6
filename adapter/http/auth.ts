import type { FastifyRequest } from 'fastify';

import { isOwnOrigin } from './origin.ts';

/**
 * Lets in a request with a valid signature, on a route that decides itself: the signature stands for the token, and
 * also for the Origin of a page that came from this server. Throws for a page of somebody else.
 */
export function admitSigned(request: FastifyRequest): void {
  const { refusal } = request;
  if (refusal?.code !== 'forbidden_origin') return;
  if (!isOwnOrigin(request.headers.origin, request.host)) throw refusal;
}
