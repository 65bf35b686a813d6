import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { type Caches, createCaches } from './caches.ts';
import type { ControllerDeps } from './controller-deps.ts';
import type { Logger } from './logger.ts';
import { mcpAdapterController } from './mcp-adapter/controller.ts';
import type { Options } from './options.ts';
import { type CrdState, crdStates } from './outdated-crds.ts';
import { ApiClient } from './kubernetes/api-client.ts';
import type { ControllerHooks } from './controllers/controller.ts';
import type { Credentials } from './kubernetes/credentials.ts';
import { EventRecorder } from './status/events.ts';
import { HealthServer } from './metrics/health-server.ts';
import type { KubernetesApi } from './kubernetes/kubernetes.ts';
import { LeaderElection } from './leader/leader-election.ts';
import { leaseOwner } from './leader/lease-owner.ts';
import { measuredApi } from './metrics/measured-api.ts';
import { type ConditionCount, countConditions, countPending, type Metrics } from './metrics/metrics.ts';
import { namespacesOf } from './cache/namespaces.ts';
import { SilentWatchError } from './cache/reflector.ts';
import { PrometheusMetrics } from './metrics/prometheus-metrics.ts';
import { leaderGatedClient } from './leader/leader-gated-client.ts';
import { WorkerTaskRunner } from './tasks/worker-task-runner.ts';
import { scrapeGroupController } from './scrape-group/controller.ts';

export interface OperatorDeps {
  readonly options: Options;
  readonly credentials: Credentials;
  readonly log: Logger;
  /** Of this program. */
  readonly version: string;
  /** Name of the pod; default: that of the machine. */
  readonly instance?: string;
}

export interface Operator {
  /** Serves health and metrics. @returns the port */
  listen(): Promise<number>;
  /**
   * Works until `signal` aborts; then ends what is under way, releases the lease, and resolves.
   * @throws when it cannot go on: the process should end
   */
  run(signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** Puts the operator together. Nothing is started. */
export function createOperator({ options, credentials, log, version, instance = hostname() }: OperatorDeps): Operator {
  const identity = `${instance}_${randomUUID()}`;
  const state = { ready: false, crds: [] as readonly CrdState[], leading: () => false };
  const userAgent = `mcp-operator/${version}`;
  const client = new ApiClient({ credentials, userAgent });
  /** The lease has connections of its own: behind slow writes a renewal would come too late. */
  const leaseClient = new ApiClient({ credentials, userAgent });
  const metrics = new PrometheusMetrics({
    leading: () => state.leading(),
    conditions: () => conditionsOf(caches, state.crds),
    pending: () => countPending(caches.locks.list()),
  });
  const now = (): number => performance.now();
  const api = measuredApi(client, metrics, now);
  const onError = (error: unknown, where: object): void => {
    // Where nothing changes, the API server may have nothing to say for minutes; the watch is then only opened anew.
    const level = error instanceof SilentWatchError ? 'debug' : 'warn';
    log[level]({ ...where, err: error }, 'a watch failed');
  };
  const namespaces = namespacesOf(options.namespaces, { api, onError });
  const caches = createCaches({ api, namespaces, onError, onWatch: metrics.watchRestarted });
  const health = new HealthServer({
    notReady: () => (state.ready ? undefined : 'the caches are not complete yet'),
    metrics: () => metrics.text(),
  });
  const lease = { name: options.leaseName, namespace: options.leaseNamespace ?? 'default' };
  const leaseApi = measuredApi(leaseClient, metrics, now);
  const election = new LeaderElection({
    ...lease,
    api: leaseApi,
    identity,
    owner: (signal) => leaseOwner(leaseApi, lease, signal),
    onError: (error) => log.warn({ err: error, lease: lease.name }, 'the lease cannot be had now'),
  });

  const lead = async (leading: () => boolean, signal: AbortSignal, stopping: AbortSignal): Promise<void> => {
    log.info({ identity }, 'leading');
    const lost = new AbortController();
    const guarded = leaderGatedClient(api, leading, lost.signal);
    const deps = { api: guarded, caches, log, hooks: hooksOf(metrics), options, version };
    await runControllers(deps, { instance, signal, stopping, lost });
    log.info({ identity }, 'no longer leading');
  };

  return {
    listen: () => health.listen(options.metricsPort),
    async run(signal) {
      namespaces.start();
      caches.start();
      void caches.synced.then(() => {
        state.ready = true;
        log.info('the caches are complete');
      });
      const checking = watchCrds(api, log, signal, (crds) => (state.crds = crds));
      if (options.leaderElection) {
        state.leading = () => election.leading();
        await election.run((until) => lead(() => election.leading(), until, signal), signal);
      } else {
        state.leading = () => !signal.aborted;
        await lead(() => true, signal, signal);
      }
      await checking;
    },
    async close() {
      await caches.stop();
      await namespaces.stop();
      await health.close();
      await client.close();
      await leaseClient.close();
      await metrics.close();
    },
  };
}

interface Leading {
  readonly instance: string;
  /** Aborts when the lead ends, or is in doubt. */
  readonly signal: AbortSignal;
  /** Aborts when the operator is told to stop. */
  readonly stopping: AbortSignal;
  /** Ends what is under way. */
  readonly lost: AbortController;
}

/** What only one operator does at a time, until `signal` aborts. */
async function runControllers(
  deps: Omit<ControllerDeps, 'events' | 'taskRunner'>,
  { instance, signal, stopping, lost }: Leading,
): Promise<void> {
  const { api, log } = deps;
  const events = new EventRecorder({
    api,
    instance,
    suffix: () => randomUUID().replaceAll('-', ''),
    onError: (error) => log.debug({ err: error }, 'an Event could not be written'),
  });
  await using taskRunner = new WorkerTaskRunner();
  await using adapters = mcpAdapterController({ ...deps, events, taskRunner });
  await using groups = scrapeGroupController({ ...deps, events, taskRunner });
  const controllers = [adapters.controller, groups.controller];
  for (const controller of controllers) controller.start(lost.signal);
  await aborted(signal);
  // Whoever is told to stop finishes what it has begun; whoever may have lost the lead must not.
  if (!stopping.aborted) lost.abort(signal.reason);
  await Promise.all(controllers.map((controller) => controller.stop()));
  await events.flush();
}

const CRD_CHECK_MS = 10 * 60_000;
const CRD_RETRY_MS = 10_000;

/** Says when CRDs in the cluster are older than this program, once for each difference. */
async function watchCrds(
  api: KubernetesApi,
  log: Logger,
  signal: AbortSignal,
  onResult: (crds: readonly CrdState[]) => void,
): Promise<void> {
  let logged = '[]';
  while (!signal.aborted) {
    let pause = CRD_CHECK_MS;
    try {
      const crds = await crdStates(api, signal);
      onResult(crds);
      const outdated = crds.flatMap(({ kind, current, missing }) => (current === 'False' ? [{ kind, missing }] : []));
      const text = JSON.stringify(outdated);
      // Of one that may not be read nothing is known.
      const isKnown = outdated.length > 0 || crds.every(({ current }) => current === 'True');
      if (isKnown && text !== logged) {
        for (const crd of outdated)
          log.error(crd, 'the CRD is older than this operator: apply the CRDs of its version');
        if (outdated.length === 0) log.info('the CRDs are those of this operator');
        logged = text;
      }
    } catch (error) {
      if (!signal.aborted) log.warn({ err: error }, 'the CRDs cannot be read');
      pause = CRD_RETRY_MS;
    }
    await delay(pause, undefined, { signal }).catch(() => {});
  }
}

/** CRDs are counted with the conditions: `CrdCurrent` of the kind is `False` while its CRD is outdated. */
function conditionsOf({ adapters, sources, locks }: Caches, crds: readonly CrdState[]): ConditionCount[] {
  const ofCrd = (kind: string): ConditionCount => ({
    kind,
    condition: 'CrdCurrent',
    status: crds.find((crd) => crd.kind === kind)?.current ?? 'Unknown',
    count: 1,
  });
  return [
    ...countConditions('McpAdapter', adapters.list()),
    ...countConditions('ApiScrapeSource', sources.list()),
    ...countConditions('McpToolLock', locks.list()),
    ofCrd('McpAdapter'),
    ofCrd('ApiScrapeSource'),
    ofCrd('McpToolLock'),
  ];
}

function hooksOf(metrics: Metrics): ControllerHooks {
  return {
    reconciled(name, outcome, ms) {
      if (outcome === 'aborted') return;
      metrics.reconciled(name, outcome === 'requeued' ? 'requeue' : outcome, ms / 1000);
    },
    queueDepth: (name, waiting) => metrics.queueDepth(name, waiting),
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
