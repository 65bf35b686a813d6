import type { UploadNonces, UploadPermission } from '../upload-nonces.ts';

/** Where the nonces of a store that lives in this process are kept. */
export interface NonceTable {
  get(nonce: string): UploadPermission | undefined;
  add(nonce: string, permission: UploadPermission): void;
  delete(nonce: string): void;
  /** May leave some for later. */
  dropExpired(now: number): void;
  clear(): void;
}

/** The nonces of a store that lives in this process. */
export class TableNonces implements UploadNonces {
  readonly #step: <T>(work: (nonces: NonceTable) => T) => Promise<T>;

  /** `step` runs its argument as one atomic step, and resolves once it is done for good. */
  constructor(step: <T>(work: (nonces: NonceTable) => T) => Promise<T>) {
    this.#step = step;
  }

  issue(nonce: string, permission: UploadPermission, now: number): Promise<boolean> {
    return this.#step((nonces) => {
      nonces.dropExpired(now);
      if (nonces.get(nonce) !== undefined) return false;
      nonces.add(nonce, permission);
      return true;
    });
  }

  find(nonce: string, now: number): Promise<UploadPermission | undefined> {
    return this.#step((nonces) => valid(nonces.get(nonce), now));
  }

  consume(nonce: string, now: number): Promise<UploadPermission | undefined> {
    return this.#step((nonces) => {
      const permission = nonces.get(nonce);
      if (permission !== undefined) nonces.delete(nonce);
      return valid(permission, now);
    });
  }
}

/** What a nonce permits at a time: nothing once it has expired. */
export const valid = (permission: UploadPermission | undefined, now: number): UploadPermission | undefined =>
  permission !== undefined && permission.expiresAt > now ? permission : undefined;
