import { describe, expect, it } from 'vitest';
import { Condition } from '../../crds/v1alpha1/conditions.ts';
import { changedConditions, type DesiredCondition, mergeConditions } from './conditions.ts';

const NOON = new Date('2026-01-01T12:00:00.987Z');
const LATER = new Date('2026-01-01T13:00:00Z');
const ready: DesiredCondition = { type: 'Ready', status: 'True', reason: 'Serving', message: 'All pods serve.' };
const accepted: DesiredCondition = { type: 'Accepted', status: 'True', reason: 'Accepted', message: '' };

describe('mergeConditions', () => {
  const before = mergeConditions([], [ready, accepted], 1, NOON);

  it('dates a new condition in whole seconds, as the schema wants it', () => {
    expect(before[0]).toEqual({ ...ready, observedGeneration: 1, lastTransitionTime: '2026-01-01T12:00:00Z' });
    expect(before.every((condition) => Condition.safeParse(condition).success)).toBe(true);
  });

  it('keeps the time while the status stays, whatever reason, message and generation do', () => {
    const [merged] = mergeConditions(before, [{ ...ready, reason: 'Other', message: 'Other.' }], 2, LATER);
    expect(merged).toMatchObject({
      reason: 'Other',
      message: 'Other.',
      observedGeneration: 2,
      lastTransitionTime: '2026-01-01T12:00:00Z',
    });
  });

  it('changes the time with the status', () => {
    const [merged] = mergeConditions(before, [{ ...ready, status: 'Unknown' }], 1, LATER);
    expect(merged?.lastTransitionTime).toBe('2026-01-01T13:00:00Z');
  });

  it('keeps the order that there was, puts new ones at the end, and drops those no longer found', () => {
    const paused: DesiredCondition = { type: 'Paused', status: 'True', reason: 'Paused', message: '' };
    const types = (found: DesiredCondition[]) => mergeConditions(before, found, 1, LATER).map(({ type }) => type);
    expect(types([paused, accepted, ready])).toEqual(['Ready', 'Accepted', 'Paused']);
    expect(types([accepted])).toEqual(['Accepted']);
  });

  it('lets a condition be about an older generation', () => {
    const [merged] = mergeConditions(before, [{ ...ready, observedGeneration: 1 }], 5, LATER);
    expect(merged?.observedGeneration).toBe(1);
  });

  it('cuts messages to what the API takes', () => {
    const [merged] = mergeConditions([], [{ ...ready, message: 'x'.repeat(40_000) }], 1, NOON);
    expect(Condition.safeParse(merged).success).toBe(true);
  });
});

describe('changedConditions', () => {
  it('tells new ones and those with another status or reason, not another message', () => {
    const before = mergeConditions([], [ready], 1, NOON);
    const after = (...found: DesiredCondition[]) => changedConditions(before, mergeConditions(before, found, 1, LATER));
    expect(after({ ...ready, message: 'Other.' })).toEqual([]);
    expect(after(ready, accepted)).toMatchObject([{ type: 'Accepted' }]);
    expect(after({ ...ready, reason: 'Other' })).toMatchObject([{ reason: 'Other' }]);
    expect(after({ ...ready, status: 'False' })).toMatchObject([{ status: 'False' }]);
  });
});
