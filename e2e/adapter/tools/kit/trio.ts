import type { RunningAdapter } from '../../../support/adapter-process.ts';
import type { RedisServer } from '../../../support/redis.ts';
import type { JsonObject } from '../../../support/scripted-upstream/json-rpc.ts';
import { type Deployment, startDeployment } from '../../kit/deployment.ts';
import type { Place } from '../../kit/session.ts';

/** Three replicas, the Redis between them, and a strict round-robin balancer before them. */
export interface Trio extends AsyncDisposable {
  readonly url: string;
  readonly redis: RedisServer;
  /** As they are now: `crash` replaces the first. */
  readonly places: readonly Place[];
  /** Replica `turn` in strict round robin. */
  at(turn: number): Place;
  /** Kills the first replica and starts it again where it was. */
  crash(): Promise<void>;
  /** One more replica, with changes in the configuration. The caller stops it. */
  startAnother(changes: JsonObject): Promise<RunningAdapter>;
}

export async function startTrio(config: JsonObject): Promise<Trio> {
  await using opened = new AsyncDisposableStack();
  const deployment: Deployment = opened.use(await startDeployment({ config }));
  const third = opened.use(await deployment.startAnother({}));
  deployment.balancer.targets.push(third.url);
  const places = (): Place[] => [deployment.a, deployment.b, third];
  const running = opened.move();
  return {
    url: deployment.balancer.url,
    redis: deployment.redis,
    get places() {
      return places();
    },
    at: (turn) => places()[turn % 3] ?? third,
    async crash() {
      deployment.a.kill();
      await deployment.restart('a');
    },
    startAnother: (changes) => deployment.startAnother(changes),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
