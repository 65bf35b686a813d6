import { setTimeout as delay } from 'node:timers/promises';
import { join } from 'node:path';
import { describe, expect, vi } from 'vitest';
import type { Cluster, TestNamespace } from '../cluster/cluster.ts';
import { at, conditionOf, type Live } from '../cluster/kubectl.ts';
import { test } from '../cluster/test.ts';
import { adapter, CHILD_KINDS, source } from './kit/resources.ts';
import { FREE, GROUP_CLAIM, INVALID, NEVER, OWN_SECRETS, THEIRS, type Way, WAYS } from './kit/ways.ts';

const CHART = join(import.meta.dirname, '../../helm/mcp-operator');
const KINDS = 'mcpadapters.mcpadapter.io,apiscrapesources.mcpadapter.io';
/** What an editor of a namespace has beside the two kinds; of Secrets, ConfigMaps and claims only what is theirs. */
const EDITS = [
  'pods',
  'services',
  'persistentvolumeclaims',
  'ingresses.networking.k8s.io',
  'networkpolicies.networking.k8s.io',
  'horizontalpodautoscalers.autoscaling',
  'poddisruptionbudgets.policy',
].join(',');

describe('T22: who writes a resource needs the rights on what becomes of it', () => {
  test('O16 T22: the right on the two kinds alone leads to nothing else', async ({ operated }) => {
    await using namespace = await operated.namespace('ways');
    const users = await usersIn(operated, namespace);
    for (const way of WAYS) {
      const user = way.asEditor === true ? users.editor : users.writer;
      await expect(write(operated, way, user, namespace), way.what).rejects.toThrow(way.says);
    }
    expect(WAYS.length).toBeGreaterThan(30);
    expect(await operated.list(`${KINDS},pods,${CHILD_KINDS.join(',')}`, namespace.name, MADE)).toEqual([]);
    expect(await operated.list(KINDS, namespace.name)).toEqual([]);
  });

  test('O16 T22: what that right is worth by itself is what the documentation says', async ({ operated }) => {
    await using namespace = await operated.namespace('free');
    const { writer } = await usersIn(operated, namespace);
    for (const way of FREE) await write(operated, { ...way, says: '' }, writer, namespace, '--dry-run=server');
  });

  test('O16 T22: whoever has those rights may do all of it', async ({ operated }) => {
    await using namespace = await operated.namespace('may');
    const { owner } = await usersIn(operated, namespace);
    for (const way of WAYS) await write(operated, way, owner, namespace, '--dry-run=server');
    await operated.run('-n', namespace.name, 'create', 'secret', 'generic', THEIRS.secret, '--from-literal=token=t');
    const env = [{ name: 'TOKEN', valueFrom: { secretKeyRef: { name: THEIRS.secret, key: 'token' } } }];
    const mine = adapter('mine', { env, replicas: 0 });
    await operated.apply(mine, '-n', namespace.name, '--as', owner);
    await operated.waitForCondition('mcpadapter', 'mine', 'Accepted', 'True', { namespace: namespace.name });
  });

  test('O16 T22: nobody gets nodes, privileges or accounts of others from an overlay', async ({ operated }) => {
    await using namespace = await operated.namespace('never');
    for (const way of NEVER) {
      await expect(write(operated, way, undefined, namespace), way.what).rejects.toThrow(way.says);
    }
  });

  test('O15 O16 O17 T22: what nobody may have becomes no object', async ({ operated }) => {
    await using namespace = await operated.namespace('invalid');
    const where = { namespace: namespace.name };
    for (const [index, way] of INVALID.entries()) {
      const name = `invalid-${index}`;
      await operated.apply({ ...way.resource, metadata: { name } }, '-n', namespace.name);
      const refused = await operated.waitForCondition('mcpadapter', name, 'Accepted', 'False', where);
      expect(conditionOf(refused, 'Accepted'), way.what).toMatchObject({
        reason: 'InvalidSpec',
        message: expect.stringContaining(way.says) as string,
      });
    }
    expect(await operated.list(`pods,${CHILD_KINDS.join(',')}`, namespace.name, MADE)).toEqual([]);
  });

  test('O16 T22: somebody else’s Secret goes nowhere by an update', async ({ operated }) => {
    await using namespace = await operated.namespace('update');
    const { writer } = await usersIn(operated, namespace);
    const where = ['-n', namespace.name];
    const env = [{ name: 'TOKEN', valueFrom: { secretKeyRef: { name: THEIRS.secret, key: 'token' } } }];
    await operated.apply(adapter('theirs', { env, replicas: 0 }), ...where);
    const accepted = { namespace: namespace.name };
    await operated.waitForCondition('mcpadapter', 'theirs', 'Accepted', 'True', accepted);

    const patch = (change: object): Promise<string> =>
      operated.run(
        'patch',
        'mcpadapter',
        'theirs',
        ...where,
        '--as',
        writer,
        '--type=merge',
        '-p',
        JSON.stringify(change),
      );
    const servers = [{ id: 'demo', mount_path: '/mcp/demo', upstream: { url: 'http://mine:1/mcp' } }];
    const refused = `refers to the Secret ${THEIRS.secret}, which needs the right to get it`;
    await expect(patch({ spec: { config: { servers } } })).rejects.toThrow(refused);
    await expect(patch({ spec: { replicas: 1 } })).rejects.toThrow(refused);
    // Neither takes anything anywhere.
    await patch({ metadata: { labels: { seen: 'true' } } });
    await operated.run('scale', 'mcpadapter', 'theirs', '--replicas=0', ...where, '--as', writer);
    await operated.run('delete', 'mcpadapter', 'theirs', ...where, '--as', writer);
  });

  test('O14 T22: the pods of a group are those of its oldest source', async ({ operated }) => {
    await using namespace = await operated.namespace('group');
    const where = { namespace: namespace.name };
    const { owner, editor } = await usersIn(operated, namespace);
    await operated.run('-n', namespace.name, 'create', 'secret', 'generic', THEIRS.secret, '--from-literal=token=t');
    const env = [{ name: 'TOKEN', valueFrom: { secretKeyRef: { name: THEIRS.secret, key: 'token' } } }];
    await operated.apply(withSpec(source('owner', 'finance'), { env }), '-n', namespace.name, '--as', owner);
    const { metadata } = await operated.waitForCondition('apiscrapesource', 'owner', 'Accepted', 'True', where);
    // Times have seconds only: what is created in the same one is as old.
    await delay(Date.parse(String(at(metadata, 'creationTimestamp'))) + 1_100 - Date.now());
    const podOverlay = { spec: { containers: [{ name: 'side', command: ['sh'] }] } };
    const scraper = { otelCollectorEndpoint: 'http://127.0.0.1:4317', otelHeaders: { a: 'b' } };
    for (const [name, foreign, field] of [
      ['image', { image: 'evil:1' }, 'image'],
      ['overlay', { podOverlay }, 'podOverlay'],
      ['collector', { scraper }, 'scraper.otelHeaders.a'],
    ] as const) {
      await operated.apply(withSpec(source(name, 'finance'), foreign), '-n', namespace.name, '--as', editor);
      const younger = await operated.waitForCondition('apiscrapesource', name, 'Accepted', 'False', where);
      const { reason, message = '' } = conditionOf(younger, 'Accepted') ?? {};
      expect([reason, message.startsWith(`spec.${field} `), message.includes('owner')], message).toEqual([
        'InvalidSpec',
        true,
        true,
      ]);
    }
    const deployment = await operated.get('deployment', 'scraper-finance', namespace.name);
    expect(at(deployment, 'spec', 'template', 'spec', 'containers', 0, 'image')).not.toBe('evil:1');
    expect(at(deployment, 'spec', 'template', 'spec', 'containers')).toHaveLength(1);
  });

  test('O14 T22: groups can be guarded by name', async ({ operated }) => {
    await using namespace = await operated.namespace('guarded');
    const { writer, owner } = await usersIn(operated, namespace);
    const use = {
      apiGroups: ['mcpadapter.io'],
      resources: ['scrapegroups'],
      resourceNames: ['finance'],
      verbs: ['use'],
    };
    await operated.apply(
      { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata: { name: 'finance' }, rules: [use] },
      '-n',
      namespace.name,
    );
    await operated.run('-n', namespace.name, 'create', 'rolebinding', 'finance', '--role=finance', `--user=${owner}`);
    const values = ['admissionPolicy.guardGroups=true', `namespaces={${namespace.name}}`].flatMap((one) => [
      '--set',
      one,
    ]);
    const policy = await operated.helm(
      'template',
      namespace.name,
      CHART,
      '--namespace',
      namespace.name,
      ...values,
      '--show-only',
      'templates/admission/rights.yaml',
    );
    await operated.runWith(policy, 'apply', '-f', '-');
    try {
      const way = { what: 'a group', resource: source('one', 'finance'), says: '' };
      const refused = `needs the right to use scrapegroups.mcpadapter.io finance in namespace ${namespace.name}`;
      // A policy holds some time after it was made.
      await vi.waitFor(
        async () => await expect(write(operated, way, writer, namespace, '--dry-run=server')).rejects.toThrow(refused),
        { timeout: 60_000, interval: 1_000 },
      );
      await write(operated, way, owner, namespace, '--dry-run=server');
      const other = { ...way, resource: source('one', 'default') };
      await expect(write(operated, other, owner, namespace, '--dry-run=server')).rejects.toThrow('scrapegroups');
    } finally {
      await operated.runWith(policy, 'delete', '-f', '-');
    }
  });

  test('T22: a namespace with such resources can be deleted', async ({ operated }) => {
    await using namespace = await operated.namespace('gone');
    const podOverlay = { spec: { containers: [{ name: 'side', command: ['sleep', '1'] }] } };
    await operated.apply(adapter('full', { podOverlay, replicas: 0 }), '-n', namespace.name);
    await operated.waitForCondition('mcpadapter', 'full', 'Accepted', 'True', { namespace: namespace.name });
    await operated.run('delete', 'namespace', namespace.name, '--wait', '--timeout=60s');
  });

  test('T22: the API server finds nothing wrong with the policies', async ({ operated }) => {
    const policies = await operated.list('validatingadmissionpolicy', undefined, 'app.kubernetes.io/name=mcp-operator');
    expect(policies.length).toBeGreaterThan(4);
    for (const { metadata, ...policy } of policies) {
      expect(at(policy, 'status', 'typeChecking', 'expressionWarnings') ?? [], metadata.name).toEqual([]);
    }
  });
});

/** Of what the operator makes. */
const MADE = 'app.kubernetes.io/managed-by=mcp-operator';

function write(
  cluster: Cluster,
  way: Way,
  user: string | undefined,
  { name }: TestNamespace,
  ...args: readonly string[]
): Promise<string> {
  const as = user === undefined ? [] : ['--as', user];
  return cluster.runWith(JSON.stringify(way.resource), 'create', '-f', '-', '-n', name, ...as, ...args);
}

const withSpec = (resource: object, fields: object): object => ({
  ...resource,
  spec: { ...(at(resource, 'spec') as object), ...fields },
});

/** A writer of the two kinds and of nothing else, an editor who may not read what is others’, and one who may do all. */
async function usersIn(cluster: Cluster, { name }: TestNamespace) {
  const users = { writer: `${name}-writer`, editor: `${name}-editor`, owner: `${name}-owner` };
  const grant = async (role: string, who: readonly string[], verbs: string, resources: string, ...names: string[]) => {
    const named = names.map((one) => `--resource-name=${one}`);
    await cluster.run('-n', name, 'create', 'role', role, `--verb=${verbs}`, `--resource=${resources}`, ...named);
    const subjects = who.map((user) => `--user=${user}`);
    await cluster.run('-n', name, 'create', 'rolebinding', role, `--role=${role}`, ...subjects);
  };
  const { editor, owner } = users;
  await grant('kinds', Object.values(users), '*', `${KINDS},mcpadapters.mcpadapter.io/scale`);
  await grant('edits', [editor, owner], 'create,delete', EDITS);
  await grant('own', [editor], 'get', 'secrets', ...OWN_SECRETS);
  await grant('group', [users.writer], 'get', 'persistentvolumeclaims', GROUP_CLAIM);
  await grant('all', [owner], '*', 'secrets,configmaps,persistentvolumeclaims,services');
  // Of kinds that this cluster does not have.
  await cluster.apply(
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'Role',
      metadata: { name: 'foreign' },
      rules: [
        { apiGroups: ['gateway.networking.k8s.io'], resources: ['httproutes'], verbs: ['create'] },
        { apiGroups: ['monitoring.coreos.com'], resources: ['servicemonitors'], verbs: ['create'] },
      ],
    },
    '-n',
    name,
  );
  await cluster.run('-n', name, 'create', 'rolebinding', 'foreign', '--role=foreign', `--user=${owner}`);
  // It ends with the namespace.
  const { metadata } = (await cluster.get('namespace', name)) as Live;
  await cluster.apply({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: owner, ownerReferences: [{ apiVersion: 'v1', kind: 'Namespace', name, uid: metadata.uid }] },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: owner }],
  });
  return users;
}
