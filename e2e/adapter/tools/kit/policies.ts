import type { JsonObject } from '../../../support/scripted-upstream/json-rpc.ts';

/** What becomes of a list, or a call of a tool, that has drifted. */
export type Reaction = 'nothing' | 'warnings' | 'error' | 'subset';

/** One combination of the fields of `tool_definition_pinning`. */
export interface Policy {
  /** Also the id of servers that have it. */
  readonly id: string;
  readonly pinning: JsonObject;
  readonly reaction: Reaction;
  /** The error ends the session. */
  readonly ends: boolean;
}

const block = (strategy: string, action: string): JsonObject => ({
  mode: 'block',
  block_strategy: strategy,
  block_error_session_action: action,
});

/** All six of them (specification, sections 2.1 and 3.1). */
export const POLICIES: readonly Policy[] = [
  { id: 'off', pinning: { mode: 'off' }, reaction: 'nothing', ends: false },
  { id: 'warn', pinning: { mode: 'warn' }, reaction: 'warnings', ends: false },
  { id: 'keep', pinning: block('error', 'keep'), reaction: 'error', ends: false },
  { id: 'invalidate', pinning: block('error', 'invalidate'), reaction: 'error', ends: true },
  { id: 'subset_keep', pinning: block('baseline_subset', 'keep'), reaction: 'subset', ends: false },
  { id: 'subset_invalidate', pinning: block('baseline_subset', 'invalidate'), reaction: 'subset', ends: false },
];

export const isStrict = ({ reaction }: Policy): boolean => reaction === 'error' || reaction === 'subset';

/** The adapter's own tool, which ends every list. */
export const helperOf = (serverId: string): string => `${serverId}_get_upload_url`;
