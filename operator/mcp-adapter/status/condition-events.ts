/** Pure: which changes of conditions are told as Events. */
import type { Condition } from '../../../crds/v1alpha1/conditions.ts';
import type { NewEvent } from '../../status/events.ts';

/** What is being done when a condition changes, for those that are told. */
const ACTIONS: Readonly<Record<string, string>> = {
  Accepted: 'Validate',
  Ready: 'Serve',
  Progressing: 'RollOut',
  UpstreamsHealthy: 'CheckUpstreams',
  StateStoreReady: 'CheckStateStore',
  AccessProtected: 'CheckAccess',
  AuthReady: 'CheckIssuers',
  FileRulesMatched: 'CheckFileRules',
  ToolsMatchLock: 'CompareTools',
  StorageReady: 'CheckStorage',
  NetworkPolicyEnforced: 'RestrictNetwork',
  Paused: 'Pause',
};

/** For these only the bad news is told: the good one is part of getting ready. */
const ONLY_BAD = new Set([
  'UpstreamsHealthy',
  'StateStoreReady',
  'AccessProtected',
  'AuthReady',
  'FileRulesMatched',
  'ToolsMatchLock',
  'StorageReady',
  'NetworkPolicyEnforced',
]);
/** They say only what is so. */
const NEUTRAL = new Set(['Progressing', 'Paused']);

/** One for each condition with news for people: what is not known yet is none. */
export function conditionEvents(changed: readonly Condition[]): NewEvent[] {
  return changed.flatMap(({ type, status, reason, message }): NewEvent[] => {
    const action = ACTIONS[type];
    if (action === undefined || status === 'Unknown') return [];
    const isBad = status === 'False' && !NEUTRAL.has(type);
    // Disabled on purpose.
    if (isBad) return reason === 'Disabled' ? [] : [{ type: 'Warning', reason, action, message }];
    return status === 'False' || ONLY_BAD.has(type) ? [] : [{ type: 'Normal', reason, action, message }];
  });
}
