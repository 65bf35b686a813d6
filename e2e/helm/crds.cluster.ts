import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { type ApiServer, startApiServer } from '../cluster/api-server.ts';
import { at, CLUSTER_BIN, execute, Kubectl } from '../cluster/kubectl.ts';
import { whyNotBuilt } from '../cluster/support.ts';
import { adapter } from '../operator/kit/resources.ts';
import { test } from './render.ts';

const ROOT = join(import.meta.dirname, '../..');
const CRDS = ['apiscrapesources.mcpadapter.io', 'mcpadapters.mcpadapter.io', 'mcptoollocks.mcpadapter.io'];
const IN = ['--namespace', 'mcp-operator'];
/** What docs/operations/upgrades.md says, from a clone. */
const TAKE =
  'upgrade --install mcp-operator-crds helm/mcp-operator-crds --namespace mcp-operator --create-namespace --take-ownership';
const OVER =
  'upgrade mcp-operator helm/mcp-operator --namespace mcp-operator --reset-then-reuse-values --set crds.install=false';

/** On an API server of their own: what they remove, others need. */
describe('O6: the CRDs', () => {
  let server: ApiServer | undefined;
  beforeAll(async () => {
    if ((await whyNotBuilt('all')) === undefined) server = await startApiServer();
  });
  afterAll(() => server?.[Symbol.asyncDispose]());

  const tools = (skip: (reason: string) => void) => {
    if (server === undefined) skip('helm or the API server is not built: run e2e/cluster/build, which needs Go 1.26');
    const { kubeconfig = '' } = server ?? {};
    const cluster = new Kubectl(kubeconfig);
    const helm = (...args: readonly string[]): Promise<string> =>
      execute(join(CLUSTER_BIN, 'helm'), ['--kubeconfig', kubeconfig, ...args], '', { cwd: ROOT });
    const documented = async (command: string): Promise<string> => {
      const page = (await readFile(join(ROOT, 'docs/operations/upgrades.md'), 'utf8')).replaceAll(/\s*\\\n\s*/g, ' ');
      expect(page).toContain(`helm ${command}`);
      return await helm(...command.split(' '));
    };
    const identities = () =>
      Promise.all(CRDS.map(async (name) => [name, (await cluster.get('crd', name))?.metadata.uid]));
    const owners = () =>
      Promise.all(
        CRDS.map(async (name) => (await cluster.get('crd', name))?.metadata.annotations?.['meta.helm.sh/release-name']),
      );
    return { cluster, helm, documented, identities, owners };
  };

  test('O6: leave the release of the operator with two commands, and no resource goes', async ({ skip }) => {
    const { cluster, helm, documented, identities, owners } = tools(skip);
    // As every release was before: the CRDs are templates of it.
    const before = ['--create-namespace', '--set', 'replicaCount=0', '--set', 'crds.install=true'];
    await helm('install', 'mcp-operator', 'helm/mcp-operator', ...IN, ...before);
    await server?.crdsEstablished();
    await cluster.apply(adapter('kept'), '-n', 'default');
    const crds = await identities();
    expect(await owners()).toEqual(CRDS.map(() => 'mcp-operator'));

    await documented(TAKE);
    await documented(OVER);
    expect(await identities()).toEqual(crds);
    expect(await owners()).toEqual(CRDS.map(() => 'mcp-operator-crds'));
    expect(await cluster.get('mcpadapter', 'kept', 'default')).toBeDefined();
    // And from then on.
    await documented(TAKE);
    await helm('upgrade', 'mcp-operator', 'helm/mcp-operator', ...IN, '--reset-then-reuse-values');
  });

  test('O6: are all that stays, and any other release can be installed then', async ({ skip }) => {
    const { cluster, helm, identities } = tools(skip);
    const crds = await identities();
    const said = await helm('uninstall', 'mcp-operator', 'mcp-operator-crds', ...IN);
    for (const name of CRDS) expect(said).toContain(name);
    expect(await identities()).toEqual(crds);
    const left = await cluster.list(OF_THE_CHART, undefined, 'app.kubernetes.io/name=mcp-operator');
    expect(left.map(({ kind, metadata }) => `${kind}/${metadata.name}`)).toEqual([]);

    const elsewhere = ['--namespace', 'elsewhere', '--create-namespace'];
    await helm('install', 'other', 'helm/mcp-operator', ...elsewhere, '--set', 'replicaCount=0');
    await helm('install', 'other-crds', 'helm/mcp-operator-crds', ...elsewhere, '--take-ownership');
    expect(await identities()).toEqual(crds);
    await helm('uninstall', 'other', 'other-crds', '--namespace', 'elsewhere');
  });

  test('O6: can come from kubectl first', async ({ skip }) => {
    const { cluster, helm, documented, identities, owners } = tools(skip);
    for (const how of [['--server-side'], []]) {
      // Not kubectl's own wait: when it runs out of time, it does not say which one has stayed.
      await cluster.run('delete', 'crd', ...CRDS, '--ignore-not-found', '--wait=false');
      await expect.poll(identities, { timeout: 100_000 }).toEqual(CRDS.map((name) => [name, undefined]));
      const files = CRDS.flatMap((name) => ['-f', join(ROOT, 'crds', `${name.split('.')[0]}.yaml`)]);
      await cluster.run(how.length === 0 ? 'create' : 'apply', ...how, ...files);
      await documented(TAKE);
      expect(await owners()).toEqual(CRDS.map(() => 'mcp-operator-crds'));
      await helm('uninstall', 'mcp-operator-crds', ...IN);
    }
    const { items } = JSON.parse(await cluster.run('get', 'crd', '-o', 'json')) as { items: unknown[] };
    expect(items.map((crd) => at(crd, 'metadata', 'name'))).toEqual(CRDS);
  });
});

const OF_THE_CHART = [
  'deployments',
  'pods',
  'services',
  'serviceaccounts',
  'configmaps',
  'roles',
  'rolebindings',
  'clusterroles',
  'clusterrolebindings',
  'networkpolicies',
  'validatingadmissionpolicies',
  'validatingadmissionpolicybindings',
].join(',');
