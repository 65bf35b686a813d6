/**
 * Pods of one kind on different nodes and in different zones, as far as possible. Only the nodes are a spread
 * constraint: the scheduler ignores all soft constraints of a pod on nodes that lack the label of one of them, and nodes
 * outside of clouds have no zone. Source: Kubernetes, "Pod Topology Spread Constraints", and the scheduler's scoring.
 */
export function spread(selector: Readonly<Record<string, string>>): object {
  // Two objects, or YAML would refer from one to the other.
  const labelSelector = (): object => ({ matchLabels: { ...selector } });
  const podAffinityTerm = { topologyKey: 'topology.kubernetes.io/zone', labelSelector: labelSelector() };
  return {
    topologySpreadConstraints: [
      {
        topologyKey: 'kubernetes.io/hostname',
        maxSkew: 1,
        whenUnsatisfiable: 'ScheduleAnyway',
        labelSelector: labelSelector(),
        matchLabelKeys: ['pod-template-hash'],
      },
    ],
    affinity: {
      podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 50, podAffinityTerm }] },
    },
  };
}
