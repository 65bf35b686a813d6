import { expect, it } from 'vitest';
import { apiScrapeSourceCrd } from '../crds/generate/api-scrape-source-crd.ts';
import { mcpAdapterCrd } from '../crds/generate/mcp-adapter-crd.ts';
import { mcpToolLockCrd } from '../crds/generate/mcp-tool-lock-crd.ts';
import { crdStates } from './outdated-crds.ts';
import { ApiError, type KubernetesObject } from './kubernetes/kubernetes.ts';

type Crds = Record<string, KubernetesObject | ApiError | undefined>;

/** What is found in a cluster with the CRDs of this program, changed. */
function states(change: (crds: Crds) => void = () => {}) {
  const crds = {
    'mcpadapters.mcpadapter.io': structuredClone(mcpAdapterCrd()) as KubernetesObject,
    'apiscrapesources.mcpadapter.io': structuredClone(apiScrapeSourceCrd()) as KubernetesObject,
    'mcptoollocks.mcpadapter.io': structuredClone(mcpToolLockCrd()) as KubernetesObject,
  };
  change(crds);
  const get = (_resource: unknown, { name }: { readonly name: string }): Promise<KubernetesObject | undefined> => {
    const found = (crds as Crds)[name];
    return found instanceof ApiError ? Promise.reject(found) : Promise.resolve(found);
  };
  return crdStates({ get }, new AbortController().signal);
}

/** Takes a member out of a CRD's schema, such as `spec.servers[].id`. */
function without(crd: KubernetesObject | ApiError | undefined, path: string): void {
  const names = path.split('.').flatMap((name) => {
    const list = name.endsWith('[]');
    return ['properties', name.replace('[]', ''), ...(list ? ['items'] : [])];
  });
  const schema = (crd as unknown as { spec: { versions: { schema: { openAPIV3Schema: object } }[] } }).spec.versions[0]
    ?.schema.openAPIV3Schema;
  const last = names.pop() ?? '';
  let place = schema as Record<string, unknown>;
  for (const name of names) place = place[name] as Record<string, unknown>;
  expect(place[last]).toBeDefined();
  Reflect.deleteProperty(place, last);
}

const current = { current: 'True', missing: [] };
const all = (adapters: object, sources: object = current, locks: object = current) => [
  { kind: 'McpAdapter', ...adapters },
  { kind: 'ApiScrapeSource', ...sources },
  { kind: 'McpToolLock', ...locks },
];

it('finds nothing in its own CRDs', async () => {
  expect(await states()).toEqual(all(current, current));
});

it('finds what is missing at any depth', async () => {
  const ofAdapter = ['spec.config.core.auth', 'spec.config.servers[].disabled_tools', 'spec.storage.existingClaim'];
  const ofSource = ['spec.source.auth', 'spec.scraper.fingerprintStore', 'status.lastError'];
  const ofLock = ['spec.newTools', 'status.pending'];
  const found = await states((crds) => {
    for (const path of ofLock) without(crds['mcptoollocks.mcpadapter.io'], path);
    for (const path of ofAdapter) without(crds['mcpadapters.mcpadapter.io'], path);
    for (const path of ofSource) without(crds['apiscrapesources.mcpadapter.io'], path);
  });
  expect(found.map(({ current: status }) => status)).toEqual(['False', 'False', 'False']);
  expect(found.map(({ missing }) => [...missing].sort())).toEqual([ofAdapter.sort(), ofSource.sort(), ofLock]);
});

it('is content with a section that keeps whatever it is given', async () => {
  const found = await states((crds) => {
    const crd = crds['mcpadapters.mcpadapter.io'] as unknown as { spec: { versions: { schema: object }[] } };
    const [version] = crd.spec.versions;
    const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
    if (version !== undefined) version.schema = { openAPIV3Schema: { properties: { spec: open, status: open } } };
  });
  expect(found).toEqual(all(current, current));
});

it('calls a kind that is not served outdated', async () => {
  const gone = { current: 'False', missing: [] };
  expect(await states((crds) => Reflect.deleteProperty(crds, 'mcpadapters.mcpadapter.io'))).toEqual(all(gone, current));
});

it('knows nothing of what it may not read, and fails with what passes', async () => {
  const denied = new ApiError(403, 'Forbidden', 'cannot get resource');
  const unknown = { current: 'Unknown', missing: [] };
  expect(await states((crds) => (crds['mcpadapters.mcpadapter.io'] = denied))).toEqual(all(unknown, current));
  const starting = new ApiError(503, 'ServiceUnavailable', 'starting');
  await expect(states((crds) => (crds['mcpadapters.mcpadapter.io'] = starting))).rejects.toThrow('starting');
});
