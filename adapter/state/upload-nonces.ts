import type { SessionKey } from './session-key.ts';

/** Single-use permissions to upload, shared by all replicas (specification, section 5). */
export interface UploadNonces {
  /** Keeps a nonce until `expiresAt`. False: it is there already. */
  issue(nonce: string, permission: UploadPermission, now: number): Promise<boolean>;
  /** What a nonce permits, without using it up; undefined when it is unknown, used or expired. */
  find(nonce: string, now: number): Promise<UploadPermission | undefined>;
  /** As `find`, for one caller only: the nonce is used up. */
  consume(nonce: string, now: number): Promise<UploadPermission | undefined>;
}

export interface UploadPermission extends SessionKey {
  /** Hash of the token of who asked, '' when authentication is off. */
  readonly principal: string;
  /** The tool that the upload is for, null for any. */
  readonly toolName: string | null;
  /** Id of the URL-mode elicitation that offered the URL (MCP 2025-11-25), null when there was none. */
  readonly elicitationId: string | null;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}
