import type { DesiredCondition } from '../status/conditions.ts';

/** Condition NetworkPolicyEnforced of pods whose connections are restricted. @param widePorts where to any address */
export function restrictedCondition(widePorts: readonly string[]): DesiredCondition {
  const condition = { type: 'NetworkPolicyEnforced', status: 'True' } as const;
  if (widePorts.length === 0) {
    const message = 'The NetworkPolicy names every host that pods may connect to; the network plugin has to enforce it';
    return { ...condition, reason: 'Restricted', message };
  }
  const message =
    `The NetworkPolicy allows any address at these ports, because it cannot name hosts outside the cluster: ` +
    `${widePorts.join(', ')}. It names every other host; the network plugin has to enforce it`;
  return { ...condition, reason: 'PortsOnly', message };
}
