import { hash } from 'node:crypto';

import type { FileKey } from '../state/file-records.ts';
import type { SessionKey } from '../state/session-key.ts';

/** Bits enough to tell a session from all others, and nothing by which it could be used. */
const LENGTH = 16;

/**
 * A name for a session that may be shown: its id lets whoever knows it use the session where authentication is off. The
 * same at all replicas.
 */
export const sessionHandle = ({ serverId, sessionId }: SessionKey): string => handleOf([serverId, sessionId]);

/** A name for a file, likewise: its id stands in addresses of files. */
export const fileHandle = ({ serverId, sessionId, kind, fileId }: FileKey): string =>
  handleOf([serverId, sessionId, kind, fileId]);

const handleOf = (parts: readonly string[]): string => hash('sha256', JSON.stringify(parts), 'hex').slice(0, LENGTH);

export const isHandle = (text: string): boolean => /^[0-9a-f]{16}$/.test(text);
