import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { valueAt } from '../../lib/json/tree.ts';
import type { KubernetesObject, Resource } from '../kubernetes/kubernetes.ts';
import {
  CONFIG_MAPS,
  DEPLOYMENTS,
  DISRUPTION_BUDGETS,
  EVENTS,
  INGRESSES,
  NETWORK_POLICIES,
  SERVICE_ACCOUNTS,
  SERVICES,
  STORAGE_CLAIMS,
} from '../kubernetes/resources.ts';
import { type RealApi, startRealApi } from '../kubernetes/testing/real-api.ts';
import { type Running, eventually, installCrds, resourceIn, startController } from './testing/test-controller.ts';

let real: RealApi;
let namespace: string;
let running: Running;

beforeAll(async () => {
  real = await startRealApi();
  await installCrds(real.api);
}, 20 * 60_000);
afterAll(async () => {
  await real?.[Symbol.asyncDispose]();
}, 60_000);
beforeEach(async () => {
  namespace = await real.namespace();
  running = startController(real.api, namespace, () => 1);
});
afterEach(async () => {
  await running[Symbol.asyncDispose]();
});

const spec = {
  replicas: 2,
  config: {
    servers: [{ id: 'files', mount_path: '/mcp', upstream: { url: 'http://files:8000/mcp' } }],
    state_persistence: { type: 'redis', redis: { host: 'redis.state' } },
  },
  storage: { claim: { size: '1Gi', accessModes: ['ReadWriteMany'] } },
  ingress: { host: 'a.example' },
};
const KINDS = [
  SERVICE_ACCOUNTS,
  CONFIG_MAPS,
  STORAGE_CLAIMS,
  NETWORK_POLICIES,
  SERVICES,
  DEPLOYMENTS,
  DISRUPTION_BUDGETS,
  INGRESSES,
];
const nameOf = (resource: Resource): string =>
  resource === CONFIG_MAPS ? 'demo-config' : resource === STORAGE_CLAIMS ? 'demo-storage' : 'demo';

/** What an edit is about: without what the API server writes itself. */
function content(object: KubernetesObject | undefined): unknown {
  const { labels, annotations, ownerReferences } = object?.metadata ?? {};
  return { labels, annotations, ownerReferences, spec: object?.['spec'], data: object?.['data'] };
}

const anotherOwner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: '0b9c5a3e-0000-4000-8000-000000000000' };
const backend = { service: { name: 'other', port: { number: 80 } } };

it.each<[string, Resource, object, ('merge' | 'strategic')?]>([
  ['the strategy', DEPLOYMENTS, { spec: { strategy: { type: 'Recreate', rollingUpdate: null } } }],
  ['the limits of a rollout', DEPLOYMENTS, { spec: { strategy: { rollingUpdate: { maxUnavailable: 1 } } } }],
  ['the replicas', DEPLOYMENTS, { spec: { replicas: 7 } }],
  ['the deadline', DEPLOYMENTS, { spec: { progressDeadlineSeconds: 5 } }],
  ['a label of ours', DEPLOYMENTS, { metadata: { labels: { 'app.kubernetes.io/name': 'x' } } }],
  ['a label that says whose it is', SERVICES, { metadata: { labels: { 'mcpadapter.io/adapter': 'x' } } }],
  ['the label by which we watch', DEPLOYMENTS, { metadata: { labels: { 'app.kubernetes.io/managed-by': 'x' } } }],
  ['the same label of a claim', STORAGE_CLAIMS, { metadata: { labels: { 'app.kubernetes.io/managed-by': 'x' } } }],
  ['the same label, removed', CONFIG_MAPS, { metadata: { labels: { 'app.kubernetes.io/managed-by': null } } }],
  ['the owner', SERVICES, { metadata: { ownerReferences: null } }],
  ['the owner, for another', SERVICES, { metadata: { ownerReferences: [anotherOwner] } }],
  ['the number of a port', SERVICES, { spec: { ports: [{ name: 'http', port: 9999, protocol: 'TCP' }] } }],
  ['a port that is added', SERVICES, { spec: { ports: [{ name: 'more', port: 9999 }] } }, 'strategic'],
  ['where a port leads', SERVICES, { spec: { ports: [{ port: 8932, targetPort: 1 }] } }, 'strategic'],
  ['the selector', SERVICES, { spec: { selector: { 'mcpadapter.io/adapter': 'x', more: 'y' } } }],
  ['a part that is added to the selector', SERVICES, { spec: { selector: { more: 'y' } } }],
  ['the rules of the Ingress', INGRESSES, { spec: { rules: [{ host: 'b.example' }] } }],
  ['the default backend', INGRESSES, { spec: { defaultBackend: backend } }],
  ['TLS that is added', INGRESSES, { spec: { tls: [{ hosts: ['b.example'], secretName: 'x' }] } }],
  ['who may connect', NETWORK_POLICIES, { spec: { ingress: [{}], egress: [{}] } }],
  ['the file', CONFIG_MAPS, { data: { 'config.yaml': 'x' } }],
  ['a file that is added', CONFIG_MAPS, { data: { 'more.yaml': 'x' } }],
  ['how many may be away', DISRUPTION_BUDGETS, { spec: { minAvailable: null, maxUnavailable: 2 } }],
  ['whether there is a token', SERVICE_ACCOUNTS, { automountServiceAccountToken: true }],
])('O7: undoes an edit of %s', async (_, resource, edit, type = 'merge') => {
  const demo = resourceIn(real.api, namespace, 'demo');
  await demo.apply(spec);
  for (const kind of KINDS) await eventually(() => demo.get(kind, nameOf(kind)));
  await demo.becomes('Accepted', 'True/Accepted');
  const before = content(await demo.get(resource, nameOf(resource)));
  await real.server.kubectl(
    '-n',
    namespace,
    'patch',
    resource.plural,
    nameOf(resource),
    '--type',
    type,
    '-p',
    JSON.stringify(edit),
  );
  await expect
    .poll(async () => content(await demo.get(resource, nameOf(resource))), { timeout: 8_000, interval: 50 })
    .toEqual(before);
  await demo.becomes('Accepted', 'True/Accepted');
  expect(valueAt(await demo.get(resource, nameOf(resource)), ['metadata', 'deletionTimestamp'])).toBeUndefined();
});

it('O7: undoes another strategy where pods must not overlap', async () => {
  const demo = resourceIn(real.api, namespace, 'demo');
  await demo.apply({ config: { servers: spec.config.servers } });
  const before = content(await eventually(() => demo.get(DEPLOYMENTS)));
  const strategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 1 } };
  await real.api.merge({ spec: { strategy } }, DEPLOYMENTS, { name: 'demo', namespace });
  await expect.poll(async () => content(await demo.get(DEPLOYMENTS)), { timeout: 8_000 }).toEqual(before);
});

it('O7: keeps the port on the nodes when it puts a port back', async () => {
  const demo = resourceIn(real.api, namespace, 'demo');
  await demo.apply({ ...spec, service: { type: 'NodePort' } });
  const before = content(await eventually(() => demo.get(SERVICES)));
  const patch = [{ op: 'replace', path: '/spec/ports/0/port', value: 9999 }];
  await real.server.kubectl('-n', namespace, 'patch', 'service', 'demo', '--type', 'json', '-p', JSON.stringify(patch));
  await expect.poll(async () => content(await demo.get(SERVICES)), { timeout: 8_000 }).toEqual(before);
});

it('O11: tells in one Event of somebody who edits again and again, and answers seldom', async () => {
  const demo = resourceIn(real.api, namespace, 'demo');
  await demo.apply(spec);
  await eventually(() => demo.get(INGRESSES));
  await demo.becomes('Accepted', 'True/Accepted');
  const before = running.writes().length;
  for (let replicas = 10; replicas < 40; replicas++) {
    await real.api.merge({ spec: { replicas } }, DEPLOYMENTS, { name: 'demo', namespace });
    await delay(200);
  }
  const contested = async () =>
    (await real.api.list(EVENTS, { namespace })).items.filter((event) => event['reason'] === 'Contested');
  await eventually(async () => ((await contested()).length > 0 ? true : undefined));
  expect(await contested()).toHaveLength(1);
  const answers = running.writes().slice(before);
  expect(answers.filter((write) => write === 'apply Deployment/demo').length).toBeLessThanOrEqual(5);
});
