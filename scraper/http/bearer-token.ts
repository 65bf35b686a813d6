import { hash, timingSafeEqual } from 'node:crypto';
import type { Environment } from '../../crds/config/reference.ts';

/** The token of the admin API is missing; the message says where it was looked for. */
export class TokenMissing extends Error {
  override readonly name = 'TokenMissing';
}

/**
 * The token of the admin API, from the variable that `scraper.adminSecretEnv` names. White space around it, such as the
 * line's end of a file that became a variable, could not be sent and does not count.
 *
 * @throws TokenMissing
 */
export function adminToken(variable: string | null, env: Environment): string {
  const token = (variable === null ? undefined : env[variable])?.trim() ?? '';
  if (token !== '') return token;
  throw new TokenMissing(
    `scraper.adminSecretEnv: the admin API needs a token, and the environment variable ${variable ?? '(none)'} is ` +
      'unset or empty; set it, or scraper.enableAdminApi to false',
  );
}

/** Tells from the header `Authorization` whether a caller has the token. */
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
