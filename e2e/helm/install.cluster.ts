import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { Cluster } from '../cluster/cluster.ts';
import { at, conditionOf, type Live } from '../cluster/kubectl.ts';
import { CRD_CHART, CRD_RELEASE, installCrds, installOperator, OPERATOR } from '../cluster/shared-cluster.ts';
import { test } from '../cluster/test.ts';
import { adapter, CHILD_KINDS, upstream } from '../operator/kit/resources.ts';
import { openRawClient } from '../support/raw-client.ts';

const CHART = join(import.meta.dirname, '../../helm/mcp-operator');
const DEPLOY = join(import.meta.dirname, '../../deploy');
const ACCOUNT = `${OPERATOR}:${OPERATOR}`;
const READY_MS = 180_000;

describe('helm install', () => {
  test('starts an operator that passes helm test', async ({ operated }) => {
    await operated.waitForRollout(OPERATOR, { namespace: OPERATOR });
    expect(await operated.helm('test', OPERATOR, '--namespace', OPERATOR, '--logs')).toContain('the operator works');
  });

  test('runs it as the strictest pod security demands', async ({ operated }) => {
    await operated.run('label', 'namespace', OPERATOR, 'pod-security.kubernetes.io/enforce=restricted', '--overwrite');
    const before = await newestPod(operated);
    await operated.run('-n', OPERATOR, 'rollout', 'restart', 'deployment', OPERATOR);
    await operated.waitForRollout(OPERATOR, { namespace: OPERATOR });
    expect(await newestPod(operated)).not.toBe(before);
  });

  test('lets the operator do its work, and nothing else', async ({ operated }) => {
    const may: [string, string][] = [
      ['watch', 'mcpadapters.mcpadapter.io'],
      ['patch', 'mcpadapters.mcpadapter.io/status'],
      ['watch', 'apiscrapesources.mcpadapter.io'],
      ['watch', 'mcptoollocks.mcpadapter.io'],
      ['patch', 'mcptoollocks.mcpadapter.io/status'],
      ['patch', 'pods'],
      ['create', 'deployments.apps'],
      ['patch', 'configmaps'],
      ['delete', 'horizontalpodautoscalers.autoscaling'],
      ['create', 'events.events.k8s.io'],
      ['watch', 'namespaces'],
    ];
    for (const [verb, resource] of may) {
      expect([verb, resource, await operated.canI(ACCOUNT, verb, resource)]).toEqual([verb, resource, true]);
    }
    const mayNot: [string, string][] = [
      ...['get', 'list', 'watch', 'create', 'patch', 'update', 'delete'].map((verb): [string, string] => [
        verb,
        'secrets',
      ]),
      ['patch', 'mcpadapters.mcpadapter.io'],
      ['update', 'apiscrapesources.mcpadapter.io'],
      ['delete', 'mcpadapters.mcpadapter.io'],
      ['patch', 'mcptoollocks.mcpadapter.io'],
      ['create', 'pods'],
      ['delete', 'pods'],
      ['create', 'pods/exec'],
      ['create', 'serviceaccounts/token'],
      ['create', 'roles.rbac.authorization.k8s.io'],
      ['list', 'customresourcedefinitions.apiextensions.k8s.io'],
      ['get', 'nodes'],
      ['patch', 'namespaces'],
      ['impersonate', 'users'],
    ];
    for (const [verb, resource] of mayNot) {
      expect([verb, resource, await operated.canI(ACCOUNT, verb, resource)]).toEqual([verb, resource, false]);
    }
    const lease = (name: string): string => `leases.coordination.k8s.io:${name}`;
    expect(await operated.canI(ACCOUNT, 'update', lease(OPERATOR), OPERATOR)).toBe(true);
    expect(await operated.canI(ACCOUNT, 'update', lease('another'), OPERATOR)).toBe(false);
    expect(await operated.canI(ACCOUNT, 'get', lease(OPERATOR), 'kube-system')).toBe(false);
  });

  test('lets the operator read no Secret, whether a resource refers to it or not', async ({ operated }) => {
    await using namespace = await operated.namespace('secrets');
    const { name: ns } = namespace;
    for (const name of ['referenced', 'other']) {
      await operated.run('-n', ns, 'create', 'secret', 'generic', name, '--from-literal=token=a-value');
    }
    const env = [{ name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'referenced', key: 'token' } } }];
    await operated.apply(adapter('refers', { env, replicas: 0 }), '-n', ns);
    await operated.waitForCondition('mcpadapter', 'refers', 'Accepted', 'True', { namespace: ns });

    const token = (await operated.run('-n', OPERATOR, 'create', 'token', OPERATOR)).trim();
    const asOperator = (...args: readonly string[]): Promise<string> => operated.run('--token', token, ...args);
    expect(await asOperator('get', 'mcpadapters', '--all-namespaces', '-o', 'name')).toContain('refers');
    const attempts = [
      ['get', 'secret', 'referenced', '-n', ns],
      ['get', 'secret', 'other', '-n', ns],
      ['get', 'secrets', '-n', ns],
      ['get', 'secrets', '--all-namespaces'],
      ['get', '--raw', `/api/v1/namespaces/${ns}/secrets?watch=1`],
      ['patch', 'secret', 'referenced', '-n', ns, '-p', '{"metadata":{"labels":{"a":"b"}}}'],
    ];
    for (const attempt of attempts) {
      await expect(asOperator(...attempt), attempt.join(' ')).rejects.toThrow(/secrets.* is forbidden/);
    }
  });

  test('lets viewers of a namespace view the two kinds, and editors edit them', async ({ operated }) => {
    await using namespace = await operated.namespace('roles');
    const users = { viewer: 'view', editor: 'edit' };
    for (const [name, role] of Object.entries(users)) {
      await operated.run('-n', namespace.name, 'create', 'serviceaccount', name);
      const subject = `${namespace.name}:${name}`;
      const binding = ['create', 'rolebinding', name, `--clusterrole=${role}`, `--serviceaccount=${subject}`];
      await operated.run('-n', namespace.name, ...binding);
    }
    const can = (user: string, verb: string): Promise<boolean> =>
      operated.canI(`${namespace.name}:${user}`, verb, 'mcpadapters.mcpadapter.io', namespace.name);
    // The API server adds aggregated rules within a moment.
    await expect.poll(() => can('editor', 'create'), { timeout: 10_000 }).toBe(true);
    expect(await can('viewer', 'watch')).toBe(true);
    expect(await can('viewer', 'patch')).toBe(false);
    expect(await can('editor', 'delete')).toBe(true);
  });

  test('updates the CRDs with an upgrade', async ({ operated }) => {
    const folder = await mkdtemp(join(tmpdir(), 'chart-'));
    try {
      const chart = join(folder, 'mcp-operator-crds');
      await cp(CRD_CHART, chart, { recursive: true });
      const crd = join(chart, 'templates/mcpadapters.yaml');
      const text = await readFile(crd, 'utf8');
      const column = text.replace('- name: Upstreams\n', '- name: Servers\n');
      expect(column).not.toBe(text);
      await writeFile(crd, column);
      await installCrds(operated, chart);
      expect(await columns(operated)).toContain('Servers');
    } finally {
      await rm(folder, { recursive: true });
      await installCrds(operated);
    }
    expect(await columns(operated)).toEqual(expect.arrayContaining(['Ready', 'Upstreams']));
    expect(await columns(operated)).not.toContain('Servers');
  });

  test('keeps CRDs and pods when it is uninstalled, says so, and takes them up again', async ({ operated }) => {
    await using namespace = await operated.namespace('survivors');
    const where = { namespace: namespace.name, timeoutMs: READY_MS };
    const survivor = (service: object): object => adapter('survivor', { service: { type: 'NodePort', ...service } });
    await operated.apply([...upstream('upstream'), survivor({})], '-n', namespace.name);
    await operated.waitForCondition('mcpadapter', 'survivor', 'UpstreamsHealthy', 'True', where);
    await operated.waitForCondition('mcpadapter', 'survivor', 'Ready', 'True', where);
    const client = await openRawClient(`${await operated.nodePortUrl('survivor', namespace.name)}/mcp/demo`);
    const serves = async (): Promise<void> =>
      expect(await client.callTool('word_count', { text: 'a b' })).toHaveProperty('result.structuredContent.words', 2);
    await serves();
    const before = await survivors(operated, namespace.name);
    expect(await operated.helm('get', 'notes', OPERATOR, ...IN_OPERATOR_NAMESPACE)).toContain(
      '`helm uninstall` keeps the CRDs and every McpAdapter and ApiScrapeSource, whose pods go on running',
    );

    // Its pod goes with it, so that nothing of it stays after the release.
    await operated.helm('test', OPERATOR, ...IN_OPERATOR_NAMESPACE);
    const said = await operated.helm('uninstall', OPERATOR, CRD_RELEASE, ...IN_OPERATOR_NAMESPACE, '--wait');
    try {
      expect(said).toContain('These resources were kept due to the resource policy');
      for (const crd of CRDS) expect(said).toContain(crd);
      expect(await operated.get('deployment', OPERATOR, OPERATOR)).toBeUndefined();
      for (const kind of ['clusterrole', 'clusterrolebinding']) {
        expect(await operated.list(kind, undefined, `app.kubernetes.io/name=${OPERATOR}`)).toEqual([]);
      }
      const gone = (object: Live | undefined): boolean => object === undefined;
      await operated.waitFor('lease', OPERATOR, gone, { namespace: OPERATOR });
      expect((await operated.list('pods', OPERATOR)).filter(({ metadata }) => !metadata.deletionTimestamp)).toEqual([]);
      await serves();
    } finally {
      await installOperator(operated);
    }
    // Only an operator that has taken the adapter up again brings this into its Service.
    await operated.apply(survivor({ annotations: { seen: 'again' } }), '-n', namespace.name);
    const isSeen = (object: Live | undefined): boolean => object?.metadata.annotations?.['seen'] === 'again';
    await operated.waitFor('service', 'survivor', isSeen, where);
    await operated.waitForCondition('mcpadapter', 'survivor', 'Ready', 'True', where);
    expect(await survivors(operated, namespace.name)).toEqual(before);
    await serves();
  });

  test('O6: restarts no adapter when only its own values change', async ({ operated }) => {
    await using namespace = await operated.namespace('values');
    const where = { namespace: namespace.name, timeoutMs: READY_MS };
    await operated.apply([...upstream('upstream'), adapter('calm')], '-n', namespace.name);
    await operated.waitForCondition('mcpadapter', 'calm', 'Ready', 'True', where);
    const before = await survivors(operated, namespace.name);
    try {
      await installOperator(operated, '--set', 'operator.logLevel=debug', '--set', 'podLabels.team=platform');
      // Only the operator with the new values brings this into its Service.
      await operated.apply(adapter('calm', { service: { annotations: { seen: 'again' } } }), '-n', namespace.name);
      const isSeen = (object: Live | undefined): boolean => object?.metadata.annotations?.['seen'] === 'again';
      await operated.waitFor('service', 'calm', isSeen, where);
      await operated.waitForCondition('mcpadapter', 'calm', 'Ready', 'True', where);
      expect(await survivors(operated, namespace.name)).toEqual(before);
    } finally {
      await installOperator(operated);
    }
  });

  test('works with Roles only', async ({ operated }) => {
    await using home = await operated.namespace('roles-operator');
    await using team = await operated.namespace('roles-team');
    await using other = await operated.namespace('roles-other');
    const release = ['--namespace', home.name];
    const values = ['--set', 'scope=namespaced', '--set', `namespaces={${team.name}}`];
    // Otherwise nobody could tell who did the work.
    await installOperator(operated, '--set', 'replicaCount=0');
    try {
      await operated.waitFor('deployment', OPERATOR, (object) => (at(object, 'status', 'replicas') ?? 0) === 0, {
        namespace: OPERATOR,
      });
      await operated.helm('install', OPERATOR, CHART, ...release, ...values, '--wait', '--timeout', '120s');
      const account = `${home.name}:${OPERATOR}`;
      const can = (verb: string, resource: string, namespace?: string): Promise<boolean> =>
        operated.canI(account, verb, resource, namespace);
      expect(await can('watch', 'mcpadapters.mcpadapter.io', team.name)).toBe(true);
      expect(await can('watch', 'mcpadapters.mcpadapter.io', other.name)).toBe(false);
      expect(await can('watch', 'mcpadapters.mcpadapter.io')).toBe(false);
      expect(await can('get', 'secrets', team.name)).toBe(false);
      expect(await can('get', 'secrets', home.name)).toBe(false);
      expect(await can('get', 'namespaces')).toBe(false);
      for (const kind of ['clusterrole', 'clusterrolebinding']) {
        const all = await operated.list(kind);
        expect(all.filter((one) => JSON.stringify(one).includes(home.name))).toEqual([]);
      }

      for (const { name } of [team, other]) {
        await operated.apply([...upstream('upstream'), adapter('restricted')], '-n', name);
      }
      const where = { namespace: team.name, timeoutMs: READY_MS };
      await operated.waitForCondition('mcpadapter', 'restricted', 'Ready', 'True', where);
      await operated.waitForCondition('mcpadapter', 'restricted', 'UpstreamsHealthy', 'True', where);
      const unseen = await operated.get('mcpadapter', 'restricted', other.name);
      expect(conditionOf(unseen, 'Accepted')).toBeUndefined();
      expect(await operated.logs(`app.kubernetes.io/name=${OPERATOR}`, home.name)).not.toMatch(
        /forbidden|"level":"error"/,
      );
      expect(await operated.helm('test', OPERATOR, ...release, '--logs')).toContain('the operator works');

      // Each release leads on its own.
      await installOperator(operated);
      await operated.waitForCondition('mcpadapter', 'restricted', 'Ready', 'True', { ...where, namespace: other.name });
      const holders = [OPERATOR, home.name].map((namespace) => operated.get('lease', OPERATOR, namespace));
      const [mine, theirs] = (await Promise.all(holders)).map((lease) => at(lease, 'spec', 'holderIdentity'));
      expect(mine).toBeTruthy();
      expect(theirs).toBeTruthy();
      expect(mine).not.toBe(theirs);
      await operated.helm('uninstall', OPERATOR, ...release, '--wait');
    } finally {
      await installOperator(operated);
    }
  });
});

test('kubectl apply -k deploy/ is accepted by the API server', async ({ cluster }) => {
  await cluster.run('create', 'namespace', 'mcp-operator').catch(() => undefined);
  const output = await cluster.run('apply', '-k', DEPLOY, '--server-side', '--force-conflicts', '--dry-run=server');
  expect(output).toContain('deployment.apps/mcp-operator serverside-applied');
});

const CRDS = ['mcpadapters.mcpadapter.io', 'apiscrapesources.mcpadapter.io', 'mcptoollocks.mcpadapter.io'];
const IN_OPERATOR_NAMESPACE = ['--namespace', OPERATOR];

/** Names of the columns that kubectl get prints. */
async function columns(cluster: Cluster): Promise<unknown[]> {
  const crd = await cluster.get('crd', CRDS[0] ?? '');
  const all = at(crd, 'spec', 'versions', 0, 'additionalPrinterColumns') as readonly { readonly name: string }[];
  return all.map(({ name }) => name);
}

/** What must be the same after an uninstall: the CRDs, the resource, its objects, and its pods with their restarts. */
async function survivors(cluster: Cluster, namespace: string): Promise<string[]> {
  const kinds = ['mcpadapters', ...CHILD_KINDS, 'pods'].join(',');
  const crds = await Promise.all(CRDS.map((crd) => cluster.get('crd', crd)));
  return [...(await cluster.list(kinds, namespace)), ...crds].map((object) => {
    const restarts = Number(at(object, 'status', 'containerStatuses', 0, 'restartCount') ?? 0);
    return `${object?.kind}/${object?.metadata.name} ${object?.metadata.uid} ${restarts}`;
  });
}

async function newestPod(cluster: Cluster): Promise<string | undefined> {
  const pods = await cluster.list('pods', OPERATOR, 'app.kubernetes.io/name=mcp-operator');
  return pods.sort((a, b) => (created(a) < created(b) ? 1 : -1))[0]?.metadata.name;
}

const created = (object: object): string => String(at(object, 'metadata', 'creationTimestamp'));
