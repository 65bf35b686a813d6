import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Authority } from '../../../scraper/requests/testing/certificates.ts';

/** Files in PEM of a server at 127.0.0.1 and of a client that trust each other. */
export interface MutualTrust extends AsyncDisposable {
  readonly server: { readonly key: string; readonly cert: string; readonly clientCa: string };
  readonly client: { readonly keyFile: string; readonly certFile: string; readonly caFile: string };
}

export async function mutualTrust(): Promise<MutualTrust> {
  const authority = await Authority.create();
  const { key, cert } = await authority.issue('IP:127.0.0.1');
  const caFile = join(authority.folder, 'ca.pem');
  const keyFile = join(authority.folder, 'both.key');
  const certFile = join(authority.folder, 'both.pem');
  await writeFile(keyFile, key);
  await writeFile(certFile, cert);
  return {
    server: { key: keyFile, cert: certFile, clientCa: caFile },
    client: { keyFile, certFile, caFile },
    [Symbol.asyncDispose]: () => authority.remove(),
  };
}
