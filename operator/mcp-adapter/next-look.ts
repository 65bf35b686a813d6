/** Pure: when to look at an adapter again although nothing says that it changed. */
import { askable } from '../pods/ask-pods.ts';
import { readySince } from '../pods/revision.ts';
import type { ApplyReport } from '../runtime/apply.ts';
import { ADAPTER_HEALTH } from './pod-health.ts';
import type { Report, Situation } from './report.ts';

/** Nobody tells the operator how pods and upstreams are: it has to ask. */
const STEADY_MS = 15_000;
/** While an answer may come any moment. */
const EAGER_MS = 2_000;
/** For so long after the youngest pod became ready, or the adapter stopped answering. */
const EAGER_FOR_MS = 60_000;
/** An API or a claim that somebody has to make. */
const MISSING_MS = 60_000;

/** In milliseconds; undefined when only a change can bring news. */
export function nextLook(
  situation: Situation,
  { conditions }: Report,
  applied: ApplyReport | undefined,
): number | undefined {
  const { verdict, storage, pods, now } = situation;
  const times: number[] = [];
  if (applied?.requeueAfterMs !== undefined) times.push(applied.requeueAfterMs);
  if (verdict.kind === 'refused' && verdict.reason === 'ApiMissing') times.push(MISSING_MS);
  if (storage.kind === 'claim' && !storage.made && conditions.some(isStorageOpen)) times.push(STEADY_MS);
  if (askable(pods, ADAPTER_HEALTH).length > 0) {
    const ready = conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
    const since = readySince(pods);
    const { handshake } = situation;
    const failingForMs = handshake?.ok === false ? (handshake.failingForMs ?? Infinity) : Infinity;
    const readyForMs = since === undefined ? Infinity : now.getTime() - since;
    const young = Math.min(readyForMs, failingForMs) < EAGER_FOR_MS;
    times.push(!ready && young ? EAGER_MS : STEADY_MS);
  }
  return times.length === 0 ? undefined : Math.min(...times);
}

const isStorageOpen = ({ type, status }: Report['conditions'][number]): boolean =>
  type === 'StorageReady' && status !== 'True';
