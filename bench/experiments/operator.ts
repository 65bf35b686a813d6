import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startApiServer } from '../../e2e/cluster/api-server.ts';
import { LARGE_FLEET, applyFleet } from '../../e2e/operator/many-resources/fleet.ts';
import type { FleetSize } from '../../e2e/operator/many-resources/fleet.ts';
import { hasConverged, processUse, untilMetrics } from '../../e2e/operator/many-resources/observe-operator.ts';
import type { ObservedOperator } from '../../e2e/operator/many-resources/observe-operator.ts';
import { OPERATOR_ENV, operatorArgs } from '../../e2e/operator/many-resources/start-operator.ts';
import { installCrds } from '../../operator/mcp-adapter/testing/test-controller.ts';
import { ApiClient } from '../../operator/kubernetes/api-client.ts';
import { kubeconfigCredentials } from '../../operator/kubernetes/kubeconfig-credentials.ts';
import { freePort } from '../harness/bench.ts';
import type { Measurable } from '../harness/targets.ts';
import { machineBusySeconds } from './calm.ts';
import type { Experiment, Recorder, Trial } from './experiment.ts';
import { settledKib } from './settle.ts';

const built: Measurable = { name: 'operator-built', built: true, absent: ({ builtAbsent }) => builtAbsent };

const SMALL_FLEET: FleetSize = { namespaces: 10, adapters: 50, sources: 200, groups: 10 };
const CONVERGE_MS = 600_000;

interface Case {
  readonly name: string;
  readonly kubeconfig: string;
  readonly size: FleetSize;
}

/** From the start of the process until every resource is accepted and nothing waits, and then until memory settles. */
async function measureStart(bench: Trial, record: Recorder, { name, kubeconfig, size }: Case): Promise<void> {
  const port = await freePort();
  const command = [process.execPath, ...operatorArgs(kubeconfig, port, join(bench.root, 'dist/operator/main.js'))];
  const busyBefore = machineBusySeconds();
  const from = performance.now();
  const child = bench.processes.start(built.name, command, {
    core: bench.cores.targets[0],
    cwd: bench.folder,
    env: OPERATOR_ENV,
  });
  try {
    const operator: ObservedOperator = { pid: child.pid, port, fate: () => (child.ended ? child.fate : undefined) };
    // A status that is there already says nothing of this operator: it must have looked at every key.
    const metrics = await untilMetrics(
      operator,
      (now) => {
        bench.signal.throwIfAborted();
        return hasConverged(now, size) && now.reconciles >= size.adapters + size.groups;
      },
      CONVERGE_MS,
    );
    const convergeSeconds = (performance.now() - from) / 1000;
    const { cpuSeconds } = processUse(child.pid);
    const busyCores = (machineBusySeconds() - busyBefore) / convergeSeconds;
    await sleep(10_000, undefined, { signal: bench.signal });
    await settledKib(bench, [child.pid]);
    const { residentMb, peakMb } = processUse(child.pid);
    const requests = Object.values({ ...metrics.requests, discover: 0 }).reduce((sum, count) => sum + count, 0);
    const values = {
      reconcilesPerSecond: metrics.reconciles / convergeSeconds,
      convergeSeconds,
      requestsPerResource: requests / (size.adapters + size.sources),
      busySeconds: cpuSeconds,
      settledMb: residentMb,
      peakMb,
    };
    bench.progress(
      `${name}: ${metrics.reconciles} reconciles in ${convergeSeconds.toFixed(1)} s, ` +
        `${residentMb.toFixed(0)} MB resident, at most ${peakMb.toFixed(0)} MB`,
    );
    const details = { ...metrics, size, busyCores };
    record.sample({ case: name, target: built.name, round: 0, values, details });
  } finally {
    await child.stop();
  }
}

/** The operator with etcd and an API server alone, which share the load's core. */
export const operator: Experiment<Measurable> = {
  name: 'operator',
  summary: '500 McpAdapters and 2,000 ApiScrapeSources: reconciles/s, API requests, memory',
  targets: [built],
  goals: ['from nothing', 'restarted'].flatMap((name) => [
    { case: name, target: built.name, metric: 'settledMb' as const, bound: { atMost: 200 } },
    { case: name, target: built.name, metric: 'reconcilesPerSecond' as const },
  ]),
  async run(bench, record, targets) {
    if (targets.length === 0) return;
    const size = bench.options.quick ? SMALL_FLEET : LARGE_FLEET;
    await using server = await startApiServer();
    const { kubeconfig } = server;
    const api = new ApiClient({ credentials: await kubeconfigCredentials(kubeconfig), userAgent: 'bench' });
    try {
      await installCrds(api);
      await applyFleet(api, size);
      bench.progress(`${size.adapters} McpAdapters and ${size.sources} ApiScrapeSources are there`);
      await measureStart(bench, record, { name: 'from nothing', kubeconfig, size });
      await measureStart(bench, record, { name: 'restarted', kubeconfig, size });
    } finally {
      await api.close();
    }
  },
};
