import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';
import type { ClientTls } from '../../crds/config/scraper-file/tls.ts';
import { RequestFailure } from './failure.ts';

/** The certificates and keys of one source, read from their files. */
export interface TlsMaterial {
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
}

/** @throws RequestFailure when a file cannot be read */
export async function readMaterial(tls: ClientTls): Promise<TlsMaterial> {
  const [ca, cert, key] = await Promise.all([
    textOf('ca', tls.ca, tls.caFile),
    textOf('cert', tls.cert, tls.certFile),
    textOf('key', tls.key, tls.keyFile),
  ]);
  return { ca, cert, key };
}

async function textOf(field: string, text: string | null, path: string | null): Promise<string | undefined> {
  if (path === null || path === '') return text === null || text === '' ? undefined : text;
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    const { code = 'unreadable' } = error as NodeJS.ErrnoException;
    throw new RequestFailure('tls', `tls.${field}File: ${path} cannot be read (${code})`);
  }
}

/**
 * What connections are made with. `andSystem`: the authorities of the system are trusted beside those that are given.
 * @throws RequestFailure when the texts are no certificates or keys
 */
export function contextOf({ ca, cert, key }: TlsMaterial, andSystem: boolean): SecureContext {
  const authorities = ca !== undefined && andSystem ? [...getCACertificates('default'), ca] : ca;
  try {
    if (ca !== undefined) checkAuthorities(ca);
    return createSecureContext({ ca: authorities, cert, key });
  } catch {
    // The message of OpenSSL says nothing that a user could use, and what it read may be a key.
    const what = cert === undefined ? 'the certificates of ca' : 'ca, cert and key';
    throw new RequestFailure('tls', `tls: ${what} cannot be used: they must be PEM texts that belong together`);
  }
}

const CERTIFICATE = /-----BEGIN (?:TRUSTED )?CERTIFICATE-----[^-]*-----END (?:TRUSTED )?CERTIFICATE-----/g;

/** Node takes a text without certificates, or with half of one, for an empty list, so that nothing would be trusted. */
function checkAuthorities(ca: string): void {
  const certificates = (ca.match(CERTIFICATE) ?? []).map((certificate) => new X509Certificate(certificate));
  if (certificates.length === 0 || certificates.length !== ca.split('-----BEGIN ').length - 1)
    throw new Error('no PEM');
}
