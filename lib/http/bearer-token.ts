import { hash, timingSafeEqual } from 'node:crypto';

/** Tells from the header `Authorization` whether a caller has the token. Nobody has an empty one. */
export function bearerToken(token: string): (authorization: string | undefined) => boolean {
  const expected = digest(Buffer.from(token, 'utf8'));
  return (authorization) => {
    const sent = /^bearer +(?<token>\S.*)$/is.exec(authorization ?? '')?.groups?.['token'];
    // Node reads the bytes of a header as Latin-1. Digests have one length, so that comparing takes the same time
    // whatever was sent.
    return sent !== undefined && timingSafeEqual(digest(Buffer.from(sent, 'latin1')), expected);
  };
}

const digest = (bytes: Buffer): Buffer => hash('sha256', bytes, 'buffer');
