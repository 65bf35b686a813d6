import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

import type { FastifyRequest } from 'fastify';

import { isOwnOrigin } from './origin.ts';

/** Whether a request has the token (specification, section 5), or needs none because authentication is off. */
export type Authenticate = (headers: IncomingHttpHeaders) => boolean;

export function tokenAuthentication(auth: {
  enabled: boolean;
  header_name: string;
  token: string | null;
}): Authenticate {
  if (!auth.enabled || auth.token === null) return () => true;
  const name = auth.header_name.toLowerCase();
  const expected = digest(auth.token);
  return (headers) => {
    const sent = headers[name];
    // Digests have one length, so the comparison takes the same time whatever was sent.
    return typeof sent === 'string' && timingSafeEqual(digest(sent), expected);
  };
}

/**
 * Lets in a request with a valid signature, on a route that decides itself: the signature stands for the token, and
 * also for the Origin of a page that came from this server. Throws for a page of somebody else.
 */
export function admitSigned(request: FastifyRequest): void {
  const { refusal } = request;
  if (refusal === undefined || refusal.code === 'unauthorized') return;
  if (!isOwnOrigin(request.headers.origin, request.host)) throw refusal;
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}
