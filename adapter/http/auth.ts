import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

import { principalOf } from '../sessions/session-registry.ts';

/**
 * Checks the token of a request (specification, section 5). Returns the caller's principal ('' when authentication
 * is off), undefined when the token is missing or wrong.
 */
export type Authenticate = (headers: IncomingHttpHeaders) => string | undefined;

export function tokenAuthentication(auth: {
  enabled: boolean;
  header_name: string;
  token: string | null;
}): Authenticate {
  if (!auth.enabled || auth.token === null) return () => '';
  const name = auth.header_name.toLowerCase();
  const expected = digest(auth.token);
  const principal = principalOf(auth.token);
  return (headers) => {
    const sent = headers[name];
    // Digests have one length, so the comparison takes the same time whatever was sent.
    return typeof sent === 'string' && timingSafeEqual(digest(sent), expected) ? principal : undefined;
  };
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}
