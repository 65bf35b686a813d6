import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { describe, expect } from 'vitest';
import type { Cluster } from '../cluster/cluster.ts';
import { at, type Live } from '../cluster/kubectl.ts';
import { test } from '../cluster/test.ts';
import { CHILD_KINDS, source } from './kit/resources.ts';

const ROOT = join(import.meta.dirname, '../..');
const EXAMPLES = ['mcp-adapter', 'mcp-adapter-replicas', 'api-scrape-source'];
/** Every field that there is, and the rarer ones. Their pods need not run. */
const GOLDENS = ['full', 'references', 'autoscaling', 'network-services', 'sidecar', 'http-route'];
const READY_MS = 240_000;
/** Pods take their time to start on a machine that has much to do. */
const TEST_MS = 600_000;

/** What Argo CD, Flux, Helm and kustomize write on what they apply. */
const TRACKING = {
  labels: {
    'app.kubernetes.io/instance': 'application',
    'app.kubernetes.io/managed-by': 'Helm',
    'argocd.argoproj.io/instance': 'application',
    'kustomize.toolkit.fluxcd.io/name': 'application',
    'kustomize.toolkit.fluxcd.io/namespace': 'flux-system',
    'helm.toolkit.fluxcd.io/name': 'application',
    team: 'agents',
  },
  annotations: {
    'argocd.argoproj.io/tracking-id': 'application:mcpadapter.io/McpAdapter:somewhere/demo',
    'argocd.argoproj.io/sync-wave': '1',
    'argocd.argoproj.io/compare-options': 'IgnoreExtraneous',
    'meta.helm.sh/release-name': 'application',
    'meta.helm.sh/release-namespace': 'somewhere',
    'helm.sh/hook': 'post-install',
    'config.kubernetes.io/origin': 'path: resources.yaml',
    'internal.config.kubernetes.io/index': '0',
  },
};
const TOOLS = /argocd|fluxcd|helm\.sh|last-applied|config\.kubernetes\.io|kubernetes\.io\/instance|^team$/;
/** Also what others make from the operator's objects, which copies from them. */
const KINDS = [...CHILD_KINDS, 'replicaset', 'pod', 'endpointslice'];

describe('after reconciling, nothing differs from what was applied', () => {
  for (const way of [[], ['--server-side']]) {
    test(`with kubectl apply and kubectl diff ${way.join(' ')}`, { timeout: TEST_MS }, async ({ operated }) => {
      await using namespace = await operated.namespace('diff');
      const where = ['-n', namespace.name];
      const resources = (await applied()).map((resource) => tracked(resource, namespace.name));
      const text = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: resources });
      await operated.runWith(text, 'apply', '-f', '-', ...where, ...way);
      await reconciled(operated, namespace.name);
      // Exits with 1 when something differs.
      expect(await operated.runWith(text, 'diff', '-f', '-', ...where, ...way)).toBe('');
      const before = await generations(operated, namespace.name);
      await operated.runWith(text, 'apply', '-f', '-', ...where, ...way);
      expect(await generations(operated, namespace.name)).toEqual(before);

      const children = await operated.list(KINDS.join(','), namespace.name, 'mcpadapter.io/adapter');
      const shards = await operated.list(KINDS.join(','), namespace.name, 'mcpadapter.io/scrape-group');
      const kinds = new Set([...children, ...shards].map(({ kind }) => kind));
      expect([...kinds]).toEqual(
        expect.arrayContaining(['ConfigMap', 'Deployment', 'Service', 'NetworkPolicy', 'Pod']),
      );
      expect([...children, ...shards].flatMap(marksOfTools)).toEqual([]);
    });
  }
});

/** Examples, the resources that golden objects are made from, and a second source of the same group. */
async function applied(): Promise<Live[]> {
  const examples = await objectsIn('examples', EXAMPLES);
  const goldens = await objectsIn('operator/mcp-adapter/testdata/resources', GOLDENS);
  return [...examples, ...goldens.filter(({ kind }) => OURS.has(kind)), source('second', 'demo') as Live];
}

async function objectsIn(folder: string, names: readonly string[]): Promise<Live[]> {
  const texts = await Promise.all(names.map((name) => readFile(join(ROOT, folder, `${name}.yaml`), 'utf8')));
  return texts.flatMap((text) => parseAllDocuments(text).map((document) => document.toJS() as Live));
}

/** In this namespace, and as GitOps tools apply it. */
function tracked(object: Live, namespace: string): object {
  if (!OURS.has(object.kind)) return { ...object, metadata: { ...object.metadata, namespace } };
  const { labels, annotations } = object.metadata;
  const marks = {
    labels: { ...labels, ...TRACKING.labels },
    annotations: { ...annotations, ...TRACKING.annotations },
  };
  return { ...object, metadata: { ...object.metadata, namespace, ...marks } };
}

const OURS = new Set(['McpAdapter', 'ApiScrapeSource']);

/** The examples serve, and every resource has a status of its generation. */
async function reconciled(cluster: Cluster, namespace: string): Promise<void> {
  const where = { namespace, timeoutMs: READY_MS };
  for (const name of ['demo', 'demo-replicas']) {
    await cluster.waitForCondition('mcpadapter', name, 'Ready', 'True', where);
  }
  for (const resource of await cluster.list('mcpadapter,apiscrapesource', namespace)) {
    const seen = (one: Live | undefined): boolean =>
      at(one, 'status', 'observedGeneration') === one?.metadata.generation;
    await cluster.waitFor(resource.kind.toLowerCase(), resource.metadata.name, seen, where);
  }
}

async function generations(cluster: Cluster, namespace: string): Promise<[string, unknown][]> {
  const resources = await cluster.list('mcpadapter,apiscrapesource', namespace);
  return resources.map(({ metadata }) => [metadata.name, metadata.generation]);
}

function marksOfTools({ kind, metadata }: Live): string[] {
  const { labels = {}, annotations = {} } = metadata;
  const marks = [...Object.keys(labels), ...Object.keys(annotations)].filter((key) => TOOLS.test(key));
  if (labels['app.kubernetes.io/managed-by'] === 'Helm') marks.push('managed by Helm');
  return marks.map((mark) => `${kind} ${metadata.name}: ${mark}`);
}
