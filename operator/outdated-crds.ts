import { valueAt } from '../lib/json/tree.ts';
import { apiScrapeSourceCrd } from '../crds/generate/api-scrape-source-crd.ts';
import { mcpToolLockCrd } from '../crds/generate/mcp-tool-lock-crd.ts';
import { mcpAdapterCrd } from '../crds/generate/mcp-adapter-crd.ts';
import { VERSION } from '../crds/v1alpha1/api.ts';
import { ApiError, type KubernetesApi } from './kubernetes/kubernetes.ts';
import { isObject } from '../lib/json/json-object.ts';
import { listAt } from './kubernetes/unstructured.ts';
import {
  API_SCRAPE_SOURCES,
  CUSTOM_RESOURCE_DEFINITIONS,
  MCP_ADAPTERS,
  MCP_TOOL_LOCKS,
} from './kubernetes/resources.ts';

/** Whether a CRD in the cluster has every field that this program uses: the API server drops the others from what users write. */
export interface CrdState {
  readonly kind: string;
  /** `Unknown` where the operator may not read it. */
  readonly current: 'True' | 'False' | 'Unknown';
  /** Paths such as `spec.replicas`; empty also when this version of the kind is not served at all. */
  readonly missing: readonly string[];
}

const MADE = [
  { resource: MCP_ADAPTERS, make: mcpAdapterCrd },
  { resource: API_SCRAPE_SOURCES, make: apiScrapeSourceCrd },
  { resource: MCP_TOOL_LOCKS, make: mcpToolLockCrd },
];

/**
 * Compares the CRDs of the cluster with those of this program.
 * @throws the error of the API server or the transport
 */
export async function crdStates(api: Pick<KubernetesApi, 'get'>, signal: AbortSignal): Promise<CrdState[]> {
  const states: CrdState[] = [];
  for (const { resource, make } of MADE) {
    const { kind, plural, apiVersion } = resource;
    const name = `${plural}.${apiVersion.split('/')[0]}`;
    try {
      const actual = schemaOf(await api.get(CUSTOM_RESOURCE_DEFINITIONS, { name }, signal));
      const missing = actual === undefined ? [] : missingFields(withoutCommon(schemaOf(make())), actual);
      states.push({ kind, current: actual !== undefined && missing.length === 0 ? 'True' : 'False', missing });
    } catch (error) {
      // Roles of single namespaces cannot allow it.
      if (!(error instanceof ApiError && error.code === 403)) throw error;
      states.push({ kind, current: 'Unknown', missing: [] });
    }
  }
  return states;
}

/** Undefined when the version that this program speaks is not served. */
function schemaOf(crd: unknown): unknown {
  const version = listAt(crd, 'spec', 'versions').find(
    (one) => valueAt(one, ['name']) === VERSION && valueAt(one, ['served']) === true,
  );
  return valueAt(version, ['schema', 'openAPIV3Schema']);
}

/** What every kind has need not stand in a schema. */
function withoutCommon(schema: unknown): unknown {
  const own = ['spec', 'status'].map((name) => [name, valueAt(schema, ['properties', name])] as const);
  return { properties: Object.fromEntries(own) };
}

/** The outermost fields of `expected` that the API server would drop. */
function missingFields(expected: unknown, actual: unknown, path = ''): string[] {
  const keepsAll = valueAt(actual, ['x-kubernetes-preserve-unknown-fields']) === true;
  const properties = valueAt(expected, ['properties']);
  const ofMembers = Object.entries(isObject(properties) ? properties : {}).flatMap(([name, schema]) => {
    const found = valueAt(actual, ['properties', name]);
    const place = path === '' ? name : `${path}.${name}`;
    if (found === undefined) return keepsAll ? [] : [place];
    return missingFields(schema, found, place);
  });
  const ofEntries = ['items', 'additionalProperties'].flatMap((entries) => {
    const schema = valueAt(expected, [entries]);
    const found = valueAt(actual, [entries]);
    return isObject(schema) && !(keepsAll && found === undefined) ? missingFields(schema, found, `${path}[]`) : [];
  });
  return [...ofMembers, ...ofEntries];
}
