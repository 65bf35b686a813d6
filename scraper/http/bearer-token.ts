import { hash, timingSafeEqual } from 'node:crypto';
import type { Environment } from '../../lib/references/reference.ts';
import type { ScraperSettings } from '../../crds/config/scraper-file/scraper.ts';

/**
 * The token of the admin API, from the variable that `adminSecretEnv` names, which is set when the configuration is valid;
 * undefined while the API is off. White space around it, such as the end of the line in a file that became a variable,
 * could not be sent and does not count.
 */
export function adminToken(
  { enableAdminApi, adminSecretEnv }: Pick<ScraperSettings, 'enableAdminApi' | 'adminSecretEnv'>,
  env: Environment,
): string | undefined {
  return enableAdminApi ? (env[adminSecretEnv ?? ''] ?? '').trim() : undefined;
}

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
