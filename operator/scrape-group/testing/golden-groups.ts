/** The groups of `testdata/groups` and how tests build them. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { ApiScrapeSource } from '../../../crds/v1alpha1/api-scrape-source.ts';
import type { KubernetesObject } from '../../kubernetes/kubernetes.ts';
import { build } from '../build/build.ts';
import type { BuildContext } from '../build/build-context.ts';
import { type Group, groupNameOf, groupOf } from '../group/group.ts';
import { ownerReferences } from '../group/owners.ts';
import { type ShardPlan, plan } from '../build/plan.ts';
import { ALL_PERMISSIONS } from '../../validation/permissions.ts';
import { preparing } from '../group/prepare.ts';

export const TESTDATA = join(import.meta.dirname, '../testdata');

export interface GoldenGroup {
  readonly name: string;
  readonly sources: readonly ApiScrapeSource[];
  readonly group: Group;
  readonly context: BuildContext;
  readonly plans: readonly ShardPlan[];
  readonly objects: readonly KubernetesObject[];
}

/** Each file holds the sources of a group, and the Services that exist in its cluster. */
export function goldenGroups(): GoldenGroup[] {
  return readdirSync(join(TESTDATA, 'groups'))
    .sort()
    .map((file) => {
      const text = readFileSync(join(TESTDATA, 'groups', file), 'utf8');
      const objects = parseAllDocuments(text).map((document) => document.toJS() as KubernetesObject);
      const sources = objects.filter(({ kind }) => kind === 'ApiScrapeSource') as unknown as ApiScrapeSource[];
      return goldenGroup(file.replace(/\.yaml$/, ''), sources, objects);
    });
}

export function goldenGroup(
  name: string,
  sources: readonly ApiScrapeSource[],
  services: readonly KubernetesObject[] = [],
  prepare = preparing(ALL_PERMISSIONS),
): GoldenGroup {
  const group = groupOf(sources, {
    otlpEndpoint: undefined,
    running: () => undefined,
    prepare,
  });
  const context: BuildContext = {
    namespace: 'tools',
    name: sources[0] === undefined ? 'default' : groupNameOf(sources[0]),
    owners: ownerReferences(sources),
    image: 'registry.example.com/mcp:0.1.0',
    podSecurity: name === 'openshift' ? 'openshift' : 'restricted',
    apiServer: ['10.96.0.1'],
    services: (namespace, service) =>
      services.find(
        ({ kind, metadata }) => kind === 'Service' && metadata.namespace === namespace && metadata.name === service,
      ),
    shards: 0,
    referencesRevision: () => (name === 'several' ? '3' : undefined),
  };
  const plans = plan(group, context);
  return { name, sources, group, context, plans, objects: build(plans, context).map(({ object }) => object) };
}
