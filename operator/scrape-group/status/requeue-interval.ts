import { probeablePods } from '../../health/pod-client.ts';
import type { ApplyReport } from '../../apply/desired.ts';
import type { KubernetesObject } from '../../kubernetes/kubernetes.ts';
import { SCRAPER_HEALTH } from './health.ts';
import type { StatusInputs } from './report.ts';

/** Nobody tells the operator how scrapes go: it has to ask. */
const STEADY_MS = 15_000;
/** While pods are about to read a new file, which the kubelet brings within a minute or so. */
const EAGER_MS = 5_000;

/** When to look at a group again although nothing says that it changed; undefined when only a change can bring news. */
export function requeueInterval(
  allInputs: readonly StatusInputs[],
  pods: readonly KubernetesObject[],
  applied: ApplyReport | undefined,
  now: Date,
): number | undefined {
  const times: number[] = [];
  if (applied?.requeueAfterMs !== undefined) times.push(applied.requeueAfterMs);
  for (const { rollout } of allInputs) {
    const patience = (rollout.overdueAt ?? 0) - now.getTime();
    if (patience > 0) times.push(patience);
  }
  if (probeablePods(pods, SCRAPER_HEALTH).length > 0)
    times.push(allInputs.some(({ upToDate }) => upToDate !== true) ? EAGER_MS : STEADY_MS);
  return times.length === 0 ? undefined : Math.min(...times);
}
