/** Pure: when to look at an adapter again although nothing says that it changed. */
import { probeablePods } from '../../health/pod-client.ts';
import { readySince } from '../../health/revision.ts';
import { rolloutOf } from '../../health/rollout.ts';
import type { ApplyReport } from '../../apply/desired.ts';
import { ADAPTER_HEALTH } from '../health/pod-health.ts';
import { failingForMsOf } from './ready.ts';
import type { Report, StatusInputs } from './report.ts';

/** Nobody tells the operator how pods and upstreams are: it has to ask. */
const STEADY_MS = 15_000;
/**
 * At first when the youngest pod has just become ready, or the adapter has just stopped answering; the longer that lasts,
 * the less often.
 */
const EAGER_MS = 2_000;
/** An API or a claim that somebody has to make. */
const MISSING_MS = 60_000;

/** In milliseconds; undefined when only a change can bring news. */
export function requeueInterval(
  inputs: StatusInputs,
  { conditions }: Report,
  applied: ApplyReport | undefined,
): number | undefined {
  const { applyResult, storage, pods, now } = inputs;
  const times: number[] = [];
  if (applied?.requeueAfterMs !== undefined) times.push(applied.requeueAfterMs);
  if (applyResult.kind === 'refused' && applyResult.reason === 'ApiMissing') times.push(MISSING_MS);
  // Pods that are on no node tell nothing, and neither does their Deployment.
  const { overdueAt } = rolloutOf(inputs.deployment);
  if (overdueAt !== undefined && overdueAt > now.getTime()) times.push(overdueAt - now.getTime());
  if (storage.kind === 'claim' && !storage.made && conditions.some(isStorageOpen)) times.push(STEADY_MS);
  if (probeablePods(pods, ADAPTER_HEALTH).length > 0) {
    const ready = conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
    const since = readySince(pods);
    const failingForMs = failingForMsOf(inputs.handshake) ?? Infinity;
    const readyForMs = since === undefined ? Infinity : now.getTime() - since;
    const forMs = Math.min(readyForMs, failingForMs);
    times.push(ready ? STEADY_MS : Math.max(EAGER_MS, Math.min(forMs / 4, STEADY_MS)));
  }
  return times.length === 0 ? undefined : Math.min(...times);
}

const isStorageOpen = ({ type, status }: Report['conditions'][number]): boolean =>
  type === 'StorageReady' && status !== 'True';
