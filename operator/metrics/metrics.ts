import type { Condition } from '../../crds/v1alpha1/conditions.ts';
import type { KubernetesObject } from '../kubernetes/kubernetes.ts';
import { numberAt } from '../kubernetes/unstructured.ts';

/** `requeue`: it waits for something. `terminal`: it failed, and trying again cannot help. */
export type ReconcileOutcome = 'done' | 'requeue' | 'failed' | 'terminal';

/** What the parts of the operator tell about themselves. Every argument has few values: names of our own, HTTP codes. */
export interface Metrics {
  reconciled(controller: string, outcome: ReconcileOutcome, seconds: number): void;
  queueDepth(controller: string, waiting: number): void;
  /** @param code HTTP status; `error` when there was no answer */
  apiRequest(verb: string, code: string, seconds: number): void;
  watchRestarted(resource: string): void;
}

export const noMetrics: Metrics = {
  reconciled() {},
  queueDepth() {},
  apiRequest() {},
  watchRestarted() {},
};

/** How many objects of a kind have a condition with this status. */
export interface ConditionCount {
  readonly kind: string;
  readonly condition: string;
  readonly status: Condition['status'];
  readonly count: number;
}

/** What is looked at when the metrics are asked for. */
export interface MetricSources {
  readonly leading: () => boolean;
  readonly conditions: () => readonly ConditionCount[];
  readonly pending: () => PendingCounts;
}

/** Definitions that differ from their locks. */
export interface PendingCounts {
  readonly drift: number;
  readonly new: number;
  readonly removed: number;
}

/** @param locks McpToolLocks */
export function countPending(locks: readonly KubernetesObject[]): PendingCounts {
  const sum = (member: string): number =>
    locks.reduce((total, lock) => total + (numberAt(lock['status'], member) ?? 0), 0);
  return { drift: sum('drifted'), new: sum('added'), removed: sum('removed') };
}

export function countConditions(kind: string, objects: readonly KubernetesObject[]): ConditionCount[] {
  const counts = new Map<string, ConditionCount>();
  for (const object of objects) {
    const { conditions = [] } = (object['status'] ?? {}) as { readonly conditions?: readonly Condition[] };
    for (const { type: condition, status } of conditions) {
      const id = `${condition}/${status}`;
      counts.set(id, { kind, condition, status, count: (counts.get(id)?.count ?? 0) + 1 });
    }
  }
  return [...counts.values()];
}
