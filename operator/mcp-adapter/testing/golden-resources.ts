/** The resources of `testdata/resources` and how tests build them. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { type Environment, interpolateAll } from '../../../lib/references/reference.ts';
import type { McpAdapter } from '../../../crds/v1alpha1/mcp-adapter.ts';
import type { KubernetesObject } from '../../kubernetes/kubernetes.ts';
import type { BuildContext } from '../build/build-context.ts';

export const TESTDATA = join(import.meta.dirname, '../testdata');

export interface GoldenResource {
  readonly name: string;
  readonly adapter: McpAdapter;
  readonly context: BuildContext;
}

/** Each file holds a McpAdapter, and the Services that exist in its cluster. */
export function goldenResources(): GoldenResource[] {
  return readdirSync(join(TESTDATA, 'resources'))
    .sort()
    .map((file) => {
      const text = readFileSync(join(TESTDATA, 'resources', file), 'utf8');
      const [adapter, ...services] = parseAllDocuments(text).map((document): unknown => document.toJS());
      const name = file.replace(/\.yaml$/, '');
      return { name, adapter: adapter as McpAdapter, context: contextOf(name, services as KubernetesObject[]) };
    });
}

export function goldenResource(name: string): GoldenResource {
  const found = goldenResources().find((resource) => resource.name === name);
  if (found === undefined) throw new Error(`no resource ${name}`);
  return found;
}

export function contextOf(name = '', services: readonly KubernetesObject[] = []): BuildContext {
  return {
    image: 'registry.example.com/mcp:0.1.0',
    podSecurity: name === 'openshift' ? 'openshift' : 'restricted',
    apiServer: ['10.96.0.1'],
    serves: { httpRoutes: true, serviceMonitors: true },
    services: (namespace, name) =>
      services.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name),
    referencesRevision: name === 'references' ? '3' : undefined,
  };
}

/** A McpAdapter with this in its spec, and one upstream unless the configuration says otherwise. */
export function adapterWith(spec: Record<string, unknown> = {}, config: Record<string, unknown> = {}): McpAdapter {
  const servers = [{ id: 'notes', mount_path: '/notes', upstream: { url: 'http://notes:8101/mcp' } }];
  return {
    apiVersion: 'mcpadapter.io/v1alpha1',
    kind: 'McpAdapter',
    metadata: { name: 'sample', namespace: 'tools' },
    spec: { config: { servers, ...config }, ...spec },
  };
}

/** What the container of the adapter would find in its environment, with made-up values for what is not written out. */
export function environmentOf({ spec }: McpAdapter): Environment {
  const names = interpolateAll(spec.config, {}).found.flatMap(({ unset }) => unset);
  const written = (spec.env ?? []).map(({ name, value }) => [name, value ?? madeUp(name)] as const);
  return Object.fromEntries([...names.map((name) => [name, madeUp(name)] as const), ...written]);
}

const madeUp = (name: string): string =>
  name === 'PORT'
    ? '9999'
    : name === 'LEVEL'
      ? 'debug'
      : name.endsWith('_URL')
        ? 'https://a.example.com/mcp'
        : `value-of-${name}`;
