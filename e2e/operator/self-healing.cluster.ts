import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, describe, expect } from 'vitest';
import type { Cluster } from '../cluster/cluster.ts';
import { at, type Live } from '../cluster/kubectl.ts';
import { test } from '../cluster/test.ts';
import { PAIR, Patient, SINGLE } from './kit/healing.ts';

const GONE_MS = 120_000;
/** Pods take their time to start on a machine that has much to do. */
const TEST_MS = 600_000;

let admitted: Promise<Patient> | undefined;
const admit = (cluster: Cluster): Promise<Patient> => (admitted ??= Patient.admit(cluster, 'healing'));

afterAll(async () => {
  await (await admitted)?.[Symbol.asyncDispose]();
});

/** The status tells what is so at every moment, and in the end all is as the resources say. */
describe('an adapter recovers from', { timeout: TEST_MS }, () => {
  test('its only pod being killed', async ({ operated }) => {
    const patient = await admit(operated);
    const [pod] = await operated.list('pod', patient.namespace, `mcpadapter.io/adapter=${SINGLE}`);
    const before = await patient.children();
    await patient.run('delete', 'pod', pod?.metadata.name ?? '', '--force', '--grace-period=0', '--wait=false');
    await patient.notReady(SINGLE);
    await patient.healthy();
    await patient.restored(before);
    expect(await patient.diagnosis()).toEqual([]);
  });

  test('its Deployment being deleted', async ({ operated }) => {
    const patient = await admit(operated);
    const before = await patient.children({ uids: false });
    const old = await operated.get('deployment', SINGLE, patient.namespace);
    await patient.run('delete', 'deployment', SINGLE, '--cascade=background', '--wait=false');
    await patient.notReady(SINGLE);
    await patient.healthy();
    // The new one takes over the pods that are left, perhaps before anybody could see that there was none.
    const gone = await operated.get('deployment', SINGLE, patient.namespace);
    const isNew = (live: Live | undefined): boolean => live !== undefined && live.metadata.uid !== gone?.metadata.uid;
    await patient.run('delete', 'deployment', SINGLE, '--cascade=orphan', '--wait=false');
    await operated.waitFor('deployment', SINGLE, isNew, { namespace: patient.namespace });
    await patient.healthy();
    await patient.restored(before, { uids: false });
    expect((await operated.get('deployment', SINGLE, patient.namespace))?.metadata.uid).not.toBe(old?.metadata.uid);
    await onePod(patient);
    expect(await patient.diagnosis()).toEqual([]);
  });

  test('its Deployment being edited', async ({ operated }) => {
    const patient = await admit(operated);
    const before = await patient.children();
    const adapterContainer = { name: 'adapter', image: 'redis:7', command: ['redis-server'], env: [] };
    const template = { metadata: { annotations: { 'mcpadapter.io/config-hash': 'forged' } } };
    const edit = { spec: { replicas: 3, template: { ...template, spec: { containers: [adapterContainer] } } } };
    await patient.run('patch', 'deployment', SINGLE, '--type=strategic', '-p', JSON.stringify(edit));
    await patient.restored(before);
    await patient.healthy();
    await onePod(patient);
    expect(await patient.diagnosis()).toEqual([]);
  });

  test('everything else being edited or deleted', async ({ operated }) => {
    const patient = await admit(operated);
    const before = await patient.children();
    await patient.merge('configmap', `${PAIR}-config`, { data: { 'config.yaml': 'servers: []' } });
    await patient.merge('service', PAIR, { spec: { selector: { 'mcpadapter.io/adapter': 'nobody' } } });
    await patient.merge('networkpolicy', PAIR, { spec: { ingress: [], egress: [] } });
    await patient.merge('poddisruptionbudget', PAIR, { spec: { maxUnavailable: 2, minAvailable: null } });
    await patient.merge('serviceaccount', PAIR, { automountServiceAccountToken: true });
    const label = { 'app.kubernetes.io/managed-by': 'somebody', 'mcpadapter.io/adapter': 'nobody' };
    await patient.merge('configmap', `${SINGLE}-config`, { metadata: { labels: label } });
    await patient.merge('service', SINGLE, { metadata: { ownerReferences: null } });
    await patient.restored(before);
    for (const kind of ['configmap/single-config', 'service/single', 'networkpolicy/single', 'serviceaccount/single']) {
      await patient.run('delete', kind, '--wait=false');
    }
    await expect
      .poll(async () => [...(await patient.children()).keys()], { timeout: GONE_MS })
      .toEqual([...before.keys()]);
    await patient.healthy();
    expect(await patient.diagnosis()).toEqual([]);
  });

  test('Redis being away', async ({ operated }) => {
    const patient = await admit(operated);
    const before = await patient.children();
    const since = new Date();
    await patient.run('scale', 'deployment', 'redis', '--replicas=0');
    const broken = await patient.says(PAIR, 'StateStoreReady', 'False');
    expect(at(broken, 'status', 'conditions')).toContainEqual(
      expect.objectContaining({
        type: 'StateStoreReady',
        reason: 'Unavailable',
        message: expect.stringContaining('2 pods'),
      }),
    );
    const statuses = (): unknown => patient.statusesOf(PAIR, 'StateStoreReady', since);
    // The history comes by a watch of its own.
    await expect.poll(statuses, { timeout: 10_000 }).toEqual(['False']);
    await stays(Number(process.env['MCP_TEST_REDIS_DOWN_SECONDS'] ?? 5), async () => {
      expect(statuses()).toEqual(['False']);
    });
    await patient.run('scale', 'deployment', 'redis', '--replicas=1');
    await patient.healthy();
    await expect.poll(statuses, { timeout: 10_000 }).toEqual(['False', 'True']);
    // While no pod serves, and why is certain, it is not ready. The other adapter has nothing to do with it.
    const ready = patient.statusesOf(PAIR, 'Ready', since);
    expect([ready.includes('False'), ready.at(-1)]).toEqual([true, 'True']);
    for (const type of ['Ready', 'StateStoreReady', 'UpstreamsHealthy']) {
      expect(patient.statusesOf(SINGLE, type, since)).toEqual([]);
    }
    await patient.restored(before);
    expect(await patient.diagnosis()).toEqual([]);
  });
});

async function onePod(patient: Patient): Promise<void> {
  const pods = (): Promise<number> =>
    patient.cluster.list('pod', patient.namespace, `mcpadapter.io/adapter=${SINGLE}`).then(({ length }) => length);
  await expect.poll(pods, { timeout: GONE_MS, interval: 500 }).toBe(1);
}

/** Holds for so long. */
async function stays(seconds: number, holds: () => Promise<void>): Promise<void> {
  const end = performance.now() + seconds * 1_000;
  while (performance.now() < end) {
    await holds();
    await delay(250);
  }
}
