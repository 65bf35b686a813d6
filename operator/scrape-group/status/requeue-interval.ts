import { askable } from '../../health/pod-client.ts';
import type { ApplyReport } from '../../apply/applier.ts';
import type { KubernetesObject } from '../../kubernetes/kubernetes.ts';
import { SCRAPER_HEALTH } from './health.ts';
import type { Situation } from './report.ts';

/** Nobody tells the operator how scrapes go: it has to ask. */
const STEADY_MS = 15_000;
/** While pods are about to read a new file, which the kubelet brings within a minute or so. */
const EAGER_MS = 5_000;

/** When to look at a group again although nothing says that it changed; undefined when only a change can bring news. */
export function nextLook(
  situations: readonly Situation[],
  pods: readonly KubernetesObject[],
  applied: ApplyReport | undefined,
  now: Date,
): number | undefined {
  const times: number[] = [];
  if (applied?.requeueAfterMs !== undefined) times.push(applied.requeueAfterMs);
  for (const { rollout } of situations) {
    const patience = (rollout.overdueAt ?? 0) - now.getTime();
    if (patience > 0) times.push(patience);
  }
  if (askable(pods, SCRAPER_HEALTH).length > 0)
    times.push(situations.some(({ upToDate }) => upToDate !== true) ? EAGER_MS : STEADY_MS);
  return times.length === 0 ? undefined : Math.min(...times);
}
