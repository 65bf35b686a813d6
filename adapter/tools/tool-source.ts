import type { Access } from '../access/access.ts';
import type { SessionRecord, StateStore } from '../state/state-store.ts';
import type { InventoryRequest } from './tool-inventory.ts';

/** Whose eyes a list is for; without `access` they see everything. */
export interface Seer {
  readonly access?: Access | undefined;
}

/** Where the tools that a client sees come from: how the upstream is asked for them, and on whose behalf. */
export interface ToolSource {
  /** Aborted, with the reason, once the client does not wait any more. */
  readonly signal: AbortSignal;
  /** Where it is kept what sessions saw first. */
  readonly store: Pick<StateStore, 'pin' | 'baseline' | 'firstTexts' | 'now'>;
  /** What the caller may see and do; undefined: everything. */
  readonly access: Access | undefined;
  /** Stands for the client's headers, on which the list may depend. */
  readonly clientKey: string;
  /** The time limit of a call in milliseconds, null for none. */
  timeoutOf(tool: string | undefined): number | null;
  request(record: SessionRecord): InventoryRequest;
  /** A new upstream session for this session. */
  renew(record: SessionRecord): Promise<SessionRecord>;
  /** Ends a session for good: its id is refused with the reason from now on. */
  invalidate(record: SessionRecord, reason: string): Promise<void>;
}
