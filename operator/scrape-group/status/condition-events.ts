import type { Condition } from '../../../crds/v1alpha1/conditions.ts';
import type { NewEvent } from '../../status/events.ts';

/** What is being done when a condition changes, for those that are told. */
const ACTIONS: Readonly<Record<string, string>> = { Accepted: 'Validate', Ready: 'Run', SourcesHealthy: 'Scrape' };

/** Bad news, and the end of bad news: thousands of sources that are fine are no news. */
export function conditionEvents(before: readonly Condition[], changed: readonly Condition[]): NewEvent[] {
  return changed.flatMap(({ type, status, reason, message }): NewEvent[] => {
    const action = ACTIONS[type];
    if (action === undefined || status === 'Unknown') return [];
    if (status === 'False') return reason === 'ScaledToZero' ? [] : [{ type: 'Warning', reason, action, message }];
    const wasBad = before.some((one) => one.type === type && one.status === 'False');
    return wasBad ? [{ type: 'Normal', reason, action, message }] : [];
  });
}
