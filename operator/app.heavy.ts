import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { type RunningProcess, startProcess } from '../e2e/support/processes.ts';
import { eventually, installCrds, resourceIn } from './mcp-adapter/testing/test-controller.ts';
import { CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, DEPLOYMENTS, LEASES } from './kubernetes/resources.ts';
import { type RealApi, startRealApi } from './kubernetes/testing/real-api.ts';

const MAIN = fileURLToPath(new URL('main.ts', import.meta.url));
const servers = [{ id: 'files', mount_path: '/mcp', upstream: { url: 'http://files:8000/mcp' } }];

const LEASE_MS = 15_000;
/** Followers look at the lease about once a second. */
const LOOK_MS = 1_200;
/** What a machine that others use as well may add. */
const NOISE_MS = 1_500;

let real: RealApi;
let operators: RunningProcess[] = [];

beforeAll(async () => {
  real = await startRealApi();
  await installCrds(real.api);
}, 20 * 60_000);
afterEach(async () => {
  for (const operator of operators) operator.kill();
  await Promise.all(operators.map(({ exited }) => exited));
  operators = [];
});
afterAll(async () => {
  await real?.[Symbol.asyncDispose]();
}, 60_000);

interface Started extends RunningProcess {
  readonly url: string;
}

/** The program, watching these namespaces. */
async function startOperator(namespaces: string, name: string, ...args: string[]): Promise<Started> {
  const common = ['run', `--namespaces=${namespaces}`, '--metrics-port=0', '--image=adapter:1'];
  const env = { KUBECONFIG: real.server.kubeconfig, POD_NAME: name, POD_NAMESPACE: namespaces };
  const running = startProcess(process.execPath, [MAIN, ...common, ...args], env);
  operators.push(running);
  const [, port] = await running.waitForStdout(/"port":(\d+)/);
  const url = `http://127.0.0.1:${port}`;
  await eventually(async () => ((await fetch(`${url}/readyz`)).ok ? true : undefined));
  return Object.assign(running, { url });
}

const isLeading = (operator: Started): boolean => /"msg":"leading"/.test(operator.stdout());
const holder = async (namespace: string): Promise<unknown> => {
  const lease = await real.api.get(LEASES, { name: 'mcp-operator', namespace });
  return (lease?.['spec'] as { holderIdentity?: string } | undefined)?.holderIdentity;
};

it('follows its namespaces, serves health and metrics, and ends with 0 when it is told to', async () => {
  const [here, elsewhere] = [await real.namespace(), await real.namespace()];
  const operator = await startOperator(here, 'one', '--no-leader-election');
  await resourceIn(real.api, elsewhere, 'demo').apply({ config: { servers } });
  const demo = resourceIn(real.api, here, 'demo');
  await demo.apply({ config: { servers } });
  await demo.becomes('Ready', 'Unknown/Progressing');
  expect((await fetch(`${operator.url}/livez`)).status).toBe(200);
  const metrics = await (await fetch(`${operator.url}/metrics`)).text();
  expect(metrics).toMatch(/mcp_operator_reconciles_total\{controller="mcp-adapter",outcome="\w+"\} [1-9]/);
  expect(metrics).toMatch(/mcp_operator_resources\{kind="McpAdapter",condition="CrdCurrent",status="True"\} 1/);
  expect(await resourceIn(real.api, elsewhere, 'demo').get(DEPLOYMENTS)).toBeUndefined();
  operator.kill('SIGTERM');
  expect(await operator.exited).toMatchObject({ code: 0 });
});

it('works as one of two: the other takes over at once when it is told to end, and all stays as it is', async () => {
  const namespace = await real.namespace();
  const first = await startOperator(namespace, 'first');
  await eventually(() => isLeading(first) || undefined);
  const second = await startOperator(namespace, 'second');
  const demo = resourceIn(real.api, namespace, 'demo');
  await demo.apply({ config: { servers } });
  await eventually(() => demo.get(DEPLOYMENTS));
  await demo.becomes('Ready', 'Unknown/Progressing');
  expect(isLeading(second)).toBe(false);
  const before = (await demo.get(DEPLOYMENTS))?.metadata.resourceVersion;

  first.kill('SIGTERM');
  expect(await first.exited).toMatchObject({ code: 0 });
  await eventually(() => isLeading(second) || undefined);
  expect(await holder(namespace)).toMatch(/^second_/);
  await real.api.delete(CONFIG_MAPS, { name: 'demo-config', namespace });
  await eventually(() => demo.get(CONFIG_MAPS, 'demo-config'));
  expect((await demo.get(DEPLOYMENTS))?.metadata.resourceVersion).toBe(before);
});

it('converges when the leader is killed in the middle of its work', { timeout: 150_000 }, async () => {
  const namespace = await real.namespace();
  const first = await startOperator(namespace, 'first');
  await eventually(() => isLeading(first) || undefined);
  const second = await startOperator(namespace, 'second');
  const names = Array.from({ length: 20 }, (_, index) => `demo-${index}`);
  await Promise.all(names.map((name) => resourceIn(real.api, namespace, name).apply({ config: { servers } })));
  first.kill('SIGKILL');
  await first.exited;
  // The lease of the dead one has to end first.
  await vi.waitUntil(() => isLeading(second), 60_000);
  for (const name of names) {
    const one = resourceIn(real.api, namespace, name);
    await one.becomes('Ready', 'Unknown/Progressing');
    await eventually(() => one.get(DEPLOYMENTS));
  }
});

it(
  'O4: has a successor within the lease and 2 s when it is killed, and 2 s when told to end',
  { timeout: 150_000 },
  async () => {
    const namespace = await real.namespace();
    let leader = await startOperator(namespace, 'operator-0');
    await eventually(() => isLeading(leader) || undefined);
    for (const [index, signal] of (['SIGKILL', 'SIGTERM', 'SIGKILL', 'SIGTERM'] as const).entries()) {
      const next = await startOperator(namespace, `operator-${index + 1}`);
      // It has seen the leader.
      await vi.waitUntil(async () => (await holder(namespace)) !== '' && !isLeading(next));
      await delay(LOOK_MS);
      const endedAt = performance.now();
      leader.kill(signal);
      const demo = resourceIn(real.api, namespace, `demo-${index}`);
      await demo.apply({ config: { servers } });
      // The first may still have made it.
      await eventually(() => isLeading(next) || undefined);
      await eventually(() => demo.get(DEPLOYMENTS));
      const tookMs = performance.now() - endedAt;
      expect(tookMs).toBeLessThan((signal === 'SIGKILL' ? LEASE_MS : 0) + 2_000 + NOISE_MS);
      leader = next;
    }
  },
);

it('says when a CRD is older than itself', async () => {
  const name = { name: 'mcpadapters.mcpadapter.io' };
  const crd = structuredClone(await real.api.get(CUSTOM_RESOURCE_DEFINITIONS, name)) as unknown as {
    spec: { versions: { schema: { openAPIV3Schema: { properties: { spec: { properties: object } } } } }[] };
  };
  const properties = crd.spec.versions[0]?.schema.openAPIV3Schema.properties.spec.properties ?? {};
  Reflect.deleteProperty(properties, 'deletionPolicy');
  await real.api.replace(crd as never, CUSTOM_RESOURCE_DEFINITIONS);
  try {
    const operator = await startOperator(await real.namespace(), 'one', '--no-leader-election');
    const [line] = await operator.waitForStdout(/.*the CRD is older than this operator.*/);
    expect(line).toContain('"missing":["spec.deletionPolicy"]');
    const metrics = await (await fetch(`${operator.url}/metrics`)).text();
    expect(metrics).toMatch(/mcp_operator_resources\{kind="McpAdapter",condition="CrdCurrent",status="False"\} 1/);
  } finally {
    await installCrds(real.api);
  }
});

it('ends with 1 when there is no cluster, and says so', async () => {
  const env = { KUBECONFIG: '/does/not/exist' };
  const running = startProcess(process.execPath, [MAIN, 'run', '--metrics-port=0'], env);
  operators.push(running);
  expect(await running.exited).toMatchObject({ code: 1 });
  expect(running.stderr()).toContain('mcp-operator: ');
});
