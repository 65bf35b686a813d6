import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect } from 'vitest';
import { parse, parseAllDocuments, stringify } from 'yaml';
import type { Cluster } from '../cluster/cluster.ts';
import { at, type Live } from '../cluster/kubectl.ts';
import { test as base } from '../cluster/test.ts';
import { ArgoCd, resourcesOf, type Tracking } from './argo-cd.ts';
import { whyNoArgoCd } from './support.ts';

const ROOT = join(import.meta.dirname, '../..');
const EXAMPLES = join(ROOT, 'examples');
const GITOPS = join(ROOT, 'gitops/argocd');
/** The adapter of examples/mcp-adapter.yaml. */
const DEMO = 'demo';
const RECONCILES = 3;
/** McpAdapter, McpToolLock and ApiScrapeSource. */
const KINDS = 3;

/** One for all tests of this file: it takes as long to start as they take. */
let started: Promise<ArgoCd> | undefined;
afterAll(async () => {
  await (await started)?.[Symbol.asyncDispose]();
});

const test = base.extend<{ argo: ArgoCd }>({
  argo: async ({ operated, skip }, use) => {
    const reason = await whyNoArgoCd();
    if (reason !== undefined) skip(reason);
    await use(await (started ??= ArgoCd.start(operated)));
  },
});

const variants: [Tracking, string, string[]][] = [
  ['label', 'client-side', []],
  ['annotation', 'server-side', ['ServerSideApply=true']],
];

describe.for(variants)('Argo CD, with tracking by %s and %s apply', ([tracking, side, syncOptions]) => {
  test(
    'keeps the examples in sync, shows how they are, brings changes to the pods and prunes nothing of them',
    { timeout: 900_000 },
    async ({ argo, operated: cluster }) => {
      await using namespace = await cluster.namespace('gitops');
      const name = `examples-${side}`;
      await argo.trackBy(tracking);
      const publish = async (files: Readonly<Record<string, string>>): Promise<string> =>
        await argo.publish(name, filesIn('examples', files));
      const examples = await exampleFiles();
      const first = await publish(examples);
      const where = { repository: name, path: 'examples', namespace: namespace.name };
      await using _application = await argo.apply({ name, ...where, syncOptions });
      const synced = await argo.waitUntilHealthy(name, first);
      expectAsInGit(synced, Object.values(examples).join('---\n'));
      const children = await childrenIn(cluster, namespace.name);

      await argo.restartController();
      for (let reconcile = 0; reconcile < RECONCILES; reconcile += 1) {
        const live = await argo.refresh(name);
        expect(at(live, 'status', 'sync', 'status')).toBe('Synced');
        expect(at(live, 'status', 'health', 'status')).toBe('Healthy');
        // Nothing was out of sync in the meantime: then it would have been healed.
        expect(at(live, 'status', 'operationState')).toEqual(at(synced, 'status', 'operationState'));
        expectAsInGit(live, Object.values(examples).join('---\n'));
      }
      expect(await childrenIn(cluster, namespace.name)).toEqual(children);

      // What goes from Git goes from the cluster, and takes nothing of the others along.
      const { 'mcp-adapter-replicas.yaml': _, 'api-scrape-source.yaml': __, ...alone } = examples;
      const changed = { ...alone, 'mcp-adapter.yaml': await demo({ env: [{ name: 'NEW', value: 'from git' }] }) };
      const second = await publish(changed);
      const shown = new Set<unknown>();
      await argo.refresh(name);
      const after = await argo.waitFor(name, (live) => {
        shown.add(at(live, 'status', 'health', 'status'));
        return isHealthyAt(live, second) && shown.has('Progressing');
      });
      expectAsInGit(after, Object.values(changed).join('---\n'));
      expect([...shown].filter((health) => health !== 'Healthy' && health !== 'Missing')).toEqual(['Progressing']);
      expect(await variableInPods(cluster, namespace.name)).toEqual(['from git']);
      const ofDemo = children.filter((child) => child.startsWith(`adapter ${DEMO} `));
      expect(ofDemo.length).toBeGreaterThan(4);
      const left = (): Promise<string[]> => childrenIn(cluster, namespace.name);
      await expect.poll(left, { timeout: 60_000, interval: 500 }).toEqual(ofDemo);

      const good = parse(await demo()) as { spec: { config: object } };
      const refused = { ...good.spec.config, core: { log_level: '${UNDECLARED}' } };
      await publish({ 'mcp-adapter.yaml': await demo({ config: refused }) });
      await argo.refresh(name);
      expect(await argo.waitForHealth(name, 'McpAdapter', DEMO, 'Degraded')).toContain('UNDECLARED');
      await publish({ 'mcp-adapter.yaml': await demo({ paused: true }) });
      await argo.refresh(name);
      await argo.waitForHealth(name, 'McpAdapter', DEMO, 'Suspended');
      const third = await publish({ 'mcp-adapter.yaml': await demo() });
      await argo.refresh(name);
      await argo.waitUntilHealthy(name, third);
      expect(await childrenIn(cluster, namespace.name)).toEqual(ofDemo);

      await cluster.run('-n', namespace.name, 'delete', 'mcpadapter', DEMO, '--wait=true');
      await cluster.waitFor('mcpadapter', DEMO, (live) => live !== undefined, { namespace: namespace.name });
      await argo.waitUntilHealthy(name, third);
      await argo.delete(name);
      await expect.poll(left, { timeout: 60_000, interval: 500 }).toEqual([]);
    },
  );

  test('installs the operator from its chart as in the example, and deletes it without the CRDs', async ({
    argo,
    operated: cluster,
  }) => {
    await using namespace = await cluster.namespace('gitops-chart');
    await argo.trackBy(tracking);
    const commit = await argo.publish('chart', { 'helm/mcp-operator': { folder: join(ROOT, 'helm/mcp-operator') } });
    const application = parse(await readFile(join(GITOPS, 'application.yaml'), 'utf8')) as ExampleApplication;
    const { metadata, spec } = application;
    // With tracking by label Argo CD would take an operator that Helm has installed under the same name for its own.
    metadata.name = namespace.name;
    spec.source.repoURL = argo.urlOf('chart');
    spec.destination.namespace = namespace.name;
    // The image of the tests; and nothing for it to do, because the cluster has an operator already.
    const { image: _, ...values } = spec.source.helm.valuesObject;
    spec.source.helm.valuesObject = { ...values, namespaces: [namespace.name] };
    await cluster.apply(application);
    try {
      const live = await argo.waitUntilHealthy(metadata.name, commit);
      const kinds = resourcesOf(live).map(({ kind }) => kind);
      expect(kinds.filter((kind) => kind === 'CustomResourceDefinition')).toHaveLength(KINDS);
      expect(kinds).toContain('ClusterRole');
      expect(kinds).toContain('ValidatingAdmissionPolicy');
      // Hooks of `helm test` are no hooks of Argo CD.
      expect(kinds).not.toContain('Pod');

      await argo.restartController();
      for (let reconcile = 0; reconcile < RECONCILES; reconcile += 1) {
        const again = await argo.refresh(metadata.name);
        expect(isHealthyAt(again, commit)).toBe(true);
        expect(at(again, 'status', 'operationState')).toEqual(at(live, 'status', 'operationState'));
      }
    } finally {
      const definitions = await uidsOfDefinitions(cluster);
      await argo.delete(metadata.name);
      expect(await uidsOfDefinitions(cluster)).toEqual(definitions);
    }
    const roles = await cluster.list('clusterroles', undefined, 'app.kubernetes.io/name=mcp-operator');
    expect(roles.filter((role) => role.metadata.name.startsWith(namespace.name))).toEqual([]);
  });
});

test('the example ApplicationSet applies the resources of each team to a namespace of its own', async ({
  argo,
  operated: cluster,
}) => {
  const team = `gitops-team-${Date.now().toString(36)}`;
  const commit = await argo.publish('teams', { [`teams/${team}/mcp-adapter.yaml`]: await demo() });
  const set = parse(await readFile(join(GITOPS, 'applicationset.yaml'), 'utf8')) as ExampleApplicationSet;
  for (const { git } of set.spec.generators) git.repoURL = argo.urlOf('teams');
  set.spec.template.spec.source.repoURL = argo.urlOf('teams');
  await cluster.apply(set);
  try {
    const live = await argo.waitUntilHealthy(`mcp-${team}`, commit);
    expectAsInGit(live, await demo());
    // Argo CD has the Applications of a set delete what they applied.
    await cluster.run('-n', 'argocd', 'delete', 'applicationset', set.metadata.name, '--wait=true');
    const gone = (application: Live | undefined): boolean => application === undefined;
    await cluster.waitFor('applications.argoproj.io', `mcp-${team}`, gone, { namespace: 'argocd' });
    const left = (): Promise<string[]> => childrenIn(cluster, team);
    await expect.poll(left, { timeout: 60_000, interval: 500 }).toEqual([]);
  } finally {
    await cluster.run('delete', 'namespace', team, '--ignore-not-found', '--wait=false');
  }
});

interface ExampleApplication {
  readonly metadata: { name: string };
  readonly spec: {
    readonly source: { repoURL: string; readonly helm: { valuesObject: Readonly<Record<string, unknown>> } };
    readonly destination: { namespace: string };
  };
}

interface ExampleApplicationSet {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly generators: readonly { readonly git: { repoURL: string } }[];
    readonly template: { readonly spec: { readonly source: { repoURL: string } } };
  };
}

/** The example of one adapter, with another spec. */
async function demo(change: object = {}): Promise<string> {
  const example = parse(await readFile(join(EXAMPLES, 'mcp-adapter.yaml'), 'utf8')) as { spec: object };
  return stringify({ ...example, spec: { ...example.spec, ...change } });
}

/** Name → content of what `kubectl apply -f examples/` applies. */
async function exampleFiles(): Promise<Record<string, string>> {
  const names = (await readdir(EXAMPLES)).filter((name) => name.endsWith('.yaml')).sort();
  const contents = names.map(async (name) => [name, await readFile(join(EXAMPLES, name), 'utf8')] as const);
  return Object.fromEntries(await Promise.all(contents));
}

const filesIn = (folder: string, files: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(files).map(([name, content]) => [`${folder}/${name}`, content]));

const isHealthyAt = (live: Live, commit: string): boolean =>
  at(live, 'status', 'sync', 'status') === 'Synced' &&
  at(live, 'status', 'health', 'status') === 'Healthy' &&
  at(live, 'status', 'sync', 'revision') === commit;

/** The application knows what stands in Git and nothing else: no child is one of its resources, or waits to be pruned. */
function expectAsInGit(live: Live, manifests: string): void {
  const documents = parseAllDocuments(manifests).map((document) => document.toJS() as Live);
  const wanted = documents.map(({ kind, metadata }) => `${kind} ${metadata.name} Synced`);
  const known = resourcesOf(live).map(({ kind, name, status, requiresPruning }) => {
    return `${kind} ${name} ${status}${requiresPruning === true ? ', to be pruned' : ''}`;
  });
  expect([...new Set(known)].sort()).toEqual(wanted.sort());
}

/** What the operator made in a namespace: `adapter NAME KIND UID`. None of it bears a mark of Argo CD. */
async function childrenIn(cluster: Cluster, namespace: string): Promise<string[]> {
  const kinds = 'deployment,service,configmap,serviceaccount,networkpolicy,poddisruptionbudget,pvc';
  const objects = await cluster.list(kinds, namespace, 'app.kubernetes.io/managed-by=mcp-operator');
  for (const { metadata } of objects) {
    const marks = Object.keys({ ...metadata.labels, ...metadata.annotations });
    expect(marks.filter((key) => /argocd|instance/.test(key))).toEqual([]);
  }
  return objects.map(({ kind, metadata }) => `${ownerOf(metadata.labels ?? {})} ${kind} ${metadata.uid}`).sort();
}

function ownerOf(labels: Readonly<Record<string, string>>): string {
  const adapter = labels['mcpadapter.io/adapter'];
  return adapter === undefined ? `group ${labels['mcpadapter.io/scrape-group'] ?? ''}` : `adapter ${adapter}`;
}

/** What the programs in the pods of the example see in the variable NEW. */
async function variableInPods(cluster: Cluster, namespace: string): Promise<string[]> {
  const pods = await cluster.list('pod', namespace, `mcpadapter.io/adapter=${DEMO}`);
  const running = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const program = ['node', '-p', 'process.env.NEW'];
  const printed = running.map(({ metadata: { name } }) =>
    cluster.run('-n', namespace, 'exec', name, '-c', 'adapter', '--', ...program),
  );
  return (await Promise.all(printed)).map((text) => text.trim());
}

async function uidsOfDefinitions(cluster: Cluster): Promise<string[]> {
  const definitions = await cluster.list('customresourcedefinitions');
  const own = definitions.filter(({ metadata }) => metadata.name.endsWith('.mcpadapter.io'));
  return own.map(({ metadata }) => metadata.uid).sort();
}
