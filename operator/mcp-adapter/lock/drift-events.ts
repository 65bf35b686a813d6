import type { PendingDefinition } from '../../../crds/v1alpha1/mcp-tool-lock.ts';
import type { NewEvent } from '../../status/events.ts';
import type { Comparison } from './comparison.ts';
import { driftText } from './drift-text.ts';

/**
 * One for each definition that has begun to drift, or drifts in other fields than before.
 * @param before what the status of the lock says, which outlives the operator
 */
export function driftEvents(
  before: readonly PendingDefinition[],
  { pending, mode }: Pick<Comparison, 'pending' | 'mode'>,
): NewEvent[] {
  const known = new Set(before.filter(isDrift).map(driftText));
  const fate = mode === 'audit' ? 'it is served and marked' : 'it is hidden, and calls are refused';
  return pending
    .filter(isDrift)
    .map(driftText)
    .filter((text) => !known.has(text))
    .map((text) => ({
      type: 'Warning',
      reason: 'ToolDrift',
      action: 'CompareTools',
      message: `${capital(text)} from what was approved; ${fate} until the lock has it as it is now`,
    }));
}

const isDrift = ({ state }: PendingDefinition): boolean => state === 'drift';

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
