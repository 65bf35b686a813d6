/** Signatures made by the test from what is written about them, not with the adapter's own code. */
import { createHmac, hkdfSync } from 'node:crypto';

const sign = (secret: string, purpose: string, lines: readonly unknown[]): string =>
  createHmac('sha256', Buffer.from(hkdfSync('sha256', secret, '', purpose, 32)))
    .update(lines.join('\n'))
    .digest('hex');

export interface UploadSignature {
  readonly server: string;
  readonly session: string;
  /** Seconds since the epoch. */
  readonly exp: number;
  readonly nonce: string;
}

/** Query of an upload URL. */
export function uploadQuery(secret: string, { server, session, exp, nonce }: UploadSignature): URLSearchParams {
  const sig = sign(secret, 'upload URL', [server, session, exp, nonce]);
  return new URLSearchParams({ mcp_upload_exp: String(exp), mcp_upload_nonce: nonce, mcp_upload_sig: sig });
}

export interface DownloadSignature {
  readonly server: string;
  readonly session: string;
  readonly artifact: string;
  readonly filename: string;
  /** Seconds since the epoch. */
  readonly exp: number;
}

/** Query of a download URL. */
export function downloadQuery(secret: string, of: DownloadSignature): URLSearchParams {
  const sig = sign(secret, 'download URL', [of.server, of.session, of.artifact, of.filename, of.exp]);
  return new URLSearchParams({ mcp_artifact_exp: String(of.exp), mcp_artifact_sig: sig });
}
