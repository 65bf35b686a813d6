import { randomBytes } from 'node:crypto';

import { AdapterError } from '../../errors.ts';
import type { UploadNonces, UploadPermission } from '../../state/upload-nonces.ts';
import { readUploadQuery, uploadQuery } from './signed-url.ts';

const NONCE_BYTES = 16;

export interface UploadUrlsOptions {
  readonly nonces: UploadNonces;
  readonly secret: string;
  /** `core.upload_path`. */
  readonly path: string;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** Told of each URL that is signed, or could not be because its nonce could not be kept. */
  readonly onIssue?: (serverId: string, result: 'issued' | 'reserve_failed') => void;
}

export interface SignedUploadUrl {
  readonly url: string;
  /** The last moment that the URL is good for, in milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** URLs that clients upload to. */
export class UploadUrls {
  readonly #options: UploadUrlsOptions;

  constructor(options: UploadUrlsOptions) {
    this.#options = options;
  }

  plain(baseUrl: string, serverId: string): string {
    return `${baseUrl}${this.#options.path}/${encodeURIComponent(serverId)}`;
  }

  /** A URL that is itself the permission for one upload, or for a person to open in a browser and upload there. */
  async sign(
    baseUrl: string,
    permission: Omit<UploadPermission, 'expiresAt'>,
    ttlSeconds: number,
  ): Promise<SignedUploadUrl> {
    const { nonces, secret, clock } = this.#options;
    const now = clock();
    // Whole seconds stand in the URL, and the last of them counts.
    const exp = Math.floor(now / 1000) + Math.ceil(ttlSeconds);
    const expiresAt = exp * 1000 + 999;
    const nonce = randomBytes(NONCE_BYTES).toString('hex');
    const { serverId, sessionId } = permission;
    let isIssued = false;
    try {
      isIssued = await nonces.issue(nonce, { ...permission, expiresAt }, now);
    } finally {
      this.#options.onIssue?.(serverId, isIssued ? 'issued' : 'reserve_failed');
    }
    if (!isIssued) throw new AdapterError('internal', 'The system gave the same random number twice.');
    const query = uploadQuery(secret, { serverId, sessionId, exp, nonce });
    return { url: `${this.plain(baseUrl, serverId)}?${query}`, expiresAt };
  }

  /** Whether a URL that was signed here can still be used. */
  async isOpen(url: string): Promise<boolean> {
    const { nonces, clock } = this.#options;
    const signed = readUploadQuery(new URL(url).searchParams);
    return typeof signed !== 'string' && (await nonces.find(signed.nonce, clock())) !== undefined;
  }
}
