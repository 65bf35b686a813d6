import { z } from 'zod';
import { hostName } from '../values/network-values.ts';
import { flag, nonBlank, text } from '../values/values.ts';

/** How a TLS connection is made: to a source, or to the collector. New: the original has no such settings. */
export const ClientTls = z.strictObject({
  verify: flag().describe('Verify the certificate of the server. False is for development only.').prefault(true),
  ca: text()
    .describe('Certificates of the authorities to trust, as PEM text. Null: those of the system.')
    .nullable()
    .prefault(null),
  caFile: nonBlank('the path of a file').describe('File with these certificates instead.').nullable().prefault(null),
  cert: text().describe('Certificate of the client, as PEM text. Null: none.').nullable().prefault(null),
  certFile: nonBlank('the path of a file').describe('File with this certificate instead.').nullable().prefault(null),
  key: text().describe('Private key of the client, as PEM text. Null: none.').nullable().prefault(null),
  keyFile: nonBlank('the path of a file').describe('File with this key instead.').nullable().prefault(null),
  serverName: hostName()
    .describe('Name that the certificate is verified for. Null: the host of the URL.')
    .nullable()
    .prefault(null),
});
export type ClientTls = z.output<typeof ClientTls>;
