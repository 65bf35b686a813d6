import { SESSIONLESS_REVISION } from '../exchange/message.ts';
import type { SessionRecord } from '../state/state-store.ts';

/**
 * Files belong to sessions, and clients of the sessionless revision (MCP 2026-07-28) have none. For what they upload or
 * have made, the adapter opens sessions by itself: workspaces. Upload handles and artifact URIs name them, which is the
 * permission to use them beside the token (the revision's "explicit state handles"). They are known by their revision,
 * which no other session has, and go away when no file is left in them.
 */
export function isWorkspace(record: Pick<SessionRecord, 'protocolVersion'>): boolean {
  return record.protocolVersion === SESSIONLESS_REVISION;
}
