import type { RunningAdapter } from '../../../support/adapter-process.ts';
import type { Balancer } from '../../../support/balancer.ts';
import type { JsonObject } from '../../../support/scripted-upstream/json-rpc.ts';
import { startDeployment } from '../../kit/deployment.ts';

/** Three replicas of one adapter with one Redis and one folder, and a balancer that gives each request to the next. */
export interface Replicas extends AsyncDisposable {
  readonly a: RunningAdapter;
  readonly b: RunningAdapter;
  readonly c: RunningAdapter;
  readonly balancer: Balancer;
}

export async function startReplicas(config: JsonObject): Promise<Replicas> {
  await using opened = new AsyncDisposableStack();
  const deployment = opened.use(await startDeployment({ config }));
  const { a, b, balancer } = deployment;
  const c = opened.use(await deployment.startAnother({}));
  balancer.targets.push(c.url);
  const running = opened.move();
  return { a, b, c, balancer, [Symbol.asyncDispose]: () => running.disposeAsync() };
}
