import { setTimeout as delay } from 'node:timers/promises';

import { UsageError } from '../../command-line.ts';
import type { KubernetesObject } from '../../kubernetes/kubernetes.ts';
import type { Cluster } from '../cluster/connect.ts';
import { ProblemError } from '../cluster/failures.ts';
import { adapterPods, isReady, isRunning } from '../cluster/program-pods.ts';
import { namesOf, readClusterArgs, type Run, whereOf } from './command.ts';

const LOOK_MS = 1_000;
const LONGEST_SECONDS = 86_400;

export const run: Run = async (args, { connect, streams, signal }) => {
  const { values, positionals } = readClusterArgs(args, {
    timeout: { type: 'string', default: '600' },
    'no-wait': { type: 'boolean' },
  });
  const [name = '', only] = namesOf(positionals, ['McpAdapter', 'pod'], 1);
  const seconds = /^\d{1,5}$/.test(values.timeout) ? Number(values.timeout) : Number.NaN;
  if (!(seconds >= 1 && seconds <= LONGEST_SECONDS)) {
    throw new UsageError(`--timeout must be seconds from 1 to ${LONGEST_SECONDS}, not "${values.timeout}"`);
  }
  await using cluster = await connect(whereOf(values));
  const running = (await adapterPods(cluster, name)).filter(isRunning);
  const pods = only === undefined ? running : running.filter((pod) => pod.metadata.name === only);
  if (pods.length === 0)
    throw new ProblemError(`no pod ${only ?? ''} of the McpAdapter ${name} runs`.replace('  ', ' '));
  if (values['no-wait'] === true && pods.length > 1) throw new UsageError('--no-wait is for one pod: name it');
  const wanted = running.filter(isReady).length;
  for (const pod of pods) {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(seconds * 1000)]);
    await evict(cluster, pod, limit);
    streams.out(`pod ${pod.metadata.name} drains: it opens no sessions, and its running calls end`);
    if (values['no-wait'] === true) continue;
    await replaced(cluster, { name, pod, wanted }, limit);
    streams.out(`pod ${pod.metadata.name} has gone, and ${wanted} serve`);
  }
  return 0;
};

/** Heeds the PodDisruptionBudget: the API server answers 429 while too few would be left, and is asked again. */
async function evict({ transport, namespace }: Cluster, { metadata }: KubernetesObject, signal: AbortSignal) {
  await transport.json({
    method: 'POST',
    path: `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(metadata.name)}/eviction`,
    body: {
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name: metadata.name, namespace },
      deleteOptions: { preconditions: { uid: metadata.uid } },
    },
    signal,
  });
}

/** Resolves when the pod has gone and as many serve as before. @throws ProblemError when that takes too long */
async function replaced(
  cluster: Cluster,
  { name, pod, wanted }: { readonly name: string; readonly pod: KubernetesObject; readonly wanted: number },
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    const pods = await adapterPods(cluster, name);
    const isGone = pods.every(({ metadata }) => metadata.uid !== pod.metadata.uid);
    if (isGone && pods.filter((one) => isRunning(one) && isReady(one)).length >= wanted) return;
    const waited = await delay(LOOK_MS, true, { signal }).catch(() => false);
    if (!waited) throw new ProblemError(`pod ${pod.metadata.name} has not been replaced in time; it drains on`);
  }
}
