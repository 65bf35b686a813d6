import type { NonceTable } from '../tables/nonce-table.ts';
import type { UploadPermission } from '../upload-nonces.ts';

/** Nonces in a map. */
export class MemoryNonceTable implements NonceTable {
  /** In the order of issue, which is nearly that of their end. */
  readonly #nonces = new Map<string, UploadPermission>();

  get(nonce: string): UploadPermission | undefined {
    return this.#nonces.get(nonce);
  }

  add(nonce: string, permission: UploadPermission): void {
    this.#nonces.set(nonce, permission);
  }

  delete(nonce: string): void {
    this.#nonces.delete(nonce);
  }

  dropExpired(now: number): void {
    for (const [nonce, { expiresAt }] of this.#nonces) {
      if (expiresAt > now) break;
      this.#nonces.delete(nonce);
    }
  }

  clear(): void {
    this.#nonces.clear();
  }
}
