import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { type RunningAdapter, startAdapter } from '../../support/adapter-process.ts';
import { type Balancer, startBalancer } from '../../support/balancer.ts';
import type { RealServer } from '../../support/real-servers.ts';
import { startRedis } from '../../support/redis.ts';

export type Deployment = 'one process' | 'two replicas behind a round-robin balancer';

/** What stands about pings in the health object when none has failed. */
export const ANSWERED_PINGS = { last_error: null, last_failure_at: null, last_success_at: expect.any(Number) };

export interface Gateway extends AsyncDisposable {
  /** Where clients find the server. */
  readonly mountUrl: string;
  /** The health object of a replica. */
  health(): Promise<unknown>;
  /** What the adapter has warned of so far. */
  warnings(): Record<string, unknown>[];
  /** How many requests each replica has had; empty without a balancer. */
  shares(): number[];
}

/** Runs the adapter in front of one server, with everything at its default that would change what clients see. */
export async function startGateway(deployment: Deployment, server: RealServer): Promise<Gateway> {
  await using started = new AsyncDisposableStack();
  const root = await mkdtemp(join(tmpdir(), 'real-servers-storage-'));
  started.defer(() => rm(root, { recursive: true, force: true }));

  const config = {
    storage: { root },
    // So often that the server answers some during a test, and with so much time that a busy machine is no failure.
    // A server that is started anew may need long on a busy machine; the breaker is to stay out of this.
    core: { upstream_ping: { interval_seconds: 1, timeout_seconds: 30, failure_threshold: 60 } },
    // Without files there is no tool and no capability but the server's own, so that lists can be compared.
    uploads: { enabled: false },
    artifacts: { enabled: false },
    servers: [{ id: 'real', mount_path: '/mcp/real', upstream: { url: server.url, transport: server.transport } }],
  };
  const { origin, replicas, balancer } = await (deployment === 'one process' ? startOne : startTwo)(config, started);
  const running = started.move();
  return {
    mountUrl: `${origin}/mcp/real`,
    health: async () => (await fetch(`${origin}/healthz`)).json(),
    // The log level is `warning` by default.
    warnings: () => replicas.flatMap((replica) => replica.logs().filter(({ msg }) => msg !== 'listening')),
    shares: () =>
      balancer === undefined
        ? []
        : replicas.map(({ url }) => balancer.requests.filter(({ target }) => target === url).length),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

interface Started {
  readonly origin: string;
  readonly replicas: readonly RunningAdapter[];
  readonly balancer?: Balancer;
}

async function startOne(config: Record<string, unknown>, started: AsyncDisposableStack): Promise<Started> {
  const adapter = started.use(await startAdapter({ config: { ...config, state_persistence: { type: 'memory' } } }));
  return { origin: adapter.url, replicas: [adapter] };
}

async function startTwo(config: Record<string, unknown>, started: AsyncDisposableStack): Promise<Started> {
  const { host, port } = started.use(await startRedis());
  const shared = { ...config, state_persistence: { type: 'redis', redis: { host, port } } };
  const replicas: RunningAdapter[] = [];
  while (replicas.length < 2) replicas.push(started.use(await startAdapter({ config: shared })));
  const balancer = started.use(await startBalancer(replicas.map(({ url }) => url)));
  return { origin: balancer.url, replicas, balancer };
}
