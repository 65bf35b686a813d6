import { expect, it } from 'vitest';
import type { Condition } from '../../../crds/v1alpha1/conditions.ts';
import { conditionEvents } from './condition-events.ts';

const condition = (type: string, status: Condition['status'], reason: string): Condition => ({
  type,
  status,
  reason,
  message: 'why',
  lastTransitionTime: '2026-01-01T00:00:00Z',
});

it.each<[Condition, string | undefined]>([
  [condition('Accepted', 'False', 'InvalidSpec'), 'Warning InvalidSpec Validate'],
  [condition('Ready', 'True', 'Ready'), 'Normal Ready Serve'],
  [condition('Ready', 'Unknown', 'Progressing'), undefined],
  [condition('Ready', 'False', 'ImagePullBackOff'), 'Warning ImagePullBackOff Serve'],
  [condition('Progressing', 'True', 'RollingOut'), 'Normal RollingOut RollOut'],
  [condition('Progressing', 'False', 'Complete'), undefined],
  [condition('UpstreamsHealthy', 'False', 'UpstreamUnhealthy'), 'Warning UpstreamUnhealthy CheckUpstreams'],
  [condition('UpstreamsHealthy', 'True', 'Healthy'), undefined],
  [condition('AuthReady', 'False', 'IssuerUnavailable'), 'Warning IssuerUnavailable CheckIssuers'],
  [condition('AuthReady', 'True', 'KeysKnown'), undefined],
  [condition('NetworkPolicyEnforced', 'False', 'Disabled'), undefined],
  [condition('NetworkPolicyEnforced', 'False', 'UnknownUpstream'), 'Warning UnknownUpstream RestrictNetwork'],
  [condition('Paused', 'True', 'Paused'), 'Normal Paused Pause'],
  [condition('Stalled', 'True', 'InvalidSpec'), undefined],
])('%j is told as %s', (changed, expected) => {
  const [found] = conditionEvents([changed]);
  expect(found && `${found.type} ${found.reason} ${found.action}`).toBe(expected);
});
