import { expect, test } from 'vitest';
import { disruptionBudget } from './disruption-budget.ts';
import { adapterWith } from '../testing/golden-resources.ts';

const rule = (spec: Record<string, unknown>): object | undefined => {
  const found = disruptionBudget(adapterWith(spec))?.['spec'];
  if (found === undefined) return undefined;
  const { minAvailable, maxUnavailable } = found as Record<string, unknown>;
  return minAvailable === undefined
    ? { maxUnavailable }
    : { minAvailable, ...(maxUnavailable === undefined ? {} : { maxUnavailable }) };
};

test.each([
  ['one pod', {}, undefined],
  ['no pod', { replicas: 0 }, undefined],
  ['one pod that must stay', { disruptionBudget: { minAvailable: 1 } }, undefined],
  ['several pods', { replicas: 2 }, { maxUnavailable: 1 }],
  ['several pods, switched off', { replicas: 2, disruptionBudget: { enabled: false } }, undefined],
  ['a share', { replicas: 4, disruptionBudget: { maxUnavailable: '50%' } }, { maxUnavailable: '50%' }],
  ['pods that must stay', { replicas: 4, disruptionBudget: { minAvailable: 3 } }, { minAvailable: 3 }],
  ['an autoscaler from one', { autoscaling: { maxReplicas: 4 } }, { maxUnavailable: 1 }],
  [
    'an autoscaler from one and one that must stay',
    { autoscaling: { maxReplicas: 4 }, disruptionBudget: { minAvailable: 1 } },
    undefined,
  ],
  ['an autoscaler up to one', { replicas: 3, autoscaling: { maxReplicas: 1 } }, undefined],
])('%s', (_name, spec, expected) => {
  expect(rule(spec)).toEqual(expected);
});
