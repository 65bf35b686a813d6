import { AdapterConfig } from '../crds/config/adapter.ts';
import { type Path, valueAt } from '../crds/config/tree.ts';
import { VERSION } from '../crds/v1alpha1/api.ts';
import { ApiScrapeSourceSpec, ApiScrapeSourceStatus } from '../crds/v1alpha1/api-scrape-source.ts';
import { McpAdapterSpec, McpAdapterStatus } from '../crds/v1alpha1/mcp-adapter.ts';
import { ApiError, type KubernetesApi, type KubernetesObject, type Resource } from './runtime/kubernetes.ts';
import { API_SCRAPE_SOURCES, CUSTOM_RESOURCE_DEFINITIONS, MCP_ADAPTERS } from './runtime/resources.ts';

/** A CRD in the cluster that lacks fields this program uses: the API server drops them from what users write. */
export interface OutdatedCrd {
  readonly kind: string;
  /** Paths such as `spec.replicas`; empty when this version of the kind is not served at all. */
  readonly missing: readonly string[];
}

/** Sections whose fields are compared, and the names that they must have. */
const EXPECTED: readonly (readonly [Resource, readonly (readonly [Path, readonly string[]])[]])[] = [
  [
    MCP_ADAPTERS,
    [
      [['spec'], Object.keys(McpAdapterSpec.shape)],
      [['spec', 'config'], Object.keys(AdapterConfig.shape)],
      [['status'], Object.keys(McpAdapterStatus.shape)],
    ],
  ],
  [
    API_SCRAPE_SOURCES,
    [
      [['spec'], Object.keys(ApiScrapeSourceSpec.shape)],
      [['status'], Object.keys(ApiScrapeSourceStatus.shape)],
    ],
  ],
];

/**
 * CRDs of ours that are older than this program. Nothing where the operator may not read them.
 * @throws the error of the API server or the transport
 */
export async function outdatedCrds(api: Pick<KubernetesApi, 'get'>, signal: AbortSignal): Promise<OutdatedCrd[]> {
  const found: OutdatedCrd[] = [];
  for (const [{ kind, plural, apiVersion }, sections] of EXPECTED) {
    const name = `${plural}.${apiVersion.split('/')[0]}`;
    try {
      const crd = await api.get(CUSTOM_RESOURCE_DEFINITIONS, { name }, signal);
      const missing = missingFields(crd, sections);
      if (missing === undefined) found.push({ kind, missing: [] });
      else if (missing.length > 0) found.push({ kind, missing });
    } catch (error) {
      // Roles of single namespaces cannot allow it.
      if (!(error instanceof ApiError && error.code === 403)) throw error;
    }
  }
  return found;
}

/** Undefined when the version that this program speaks is not served. */
function missingFields(
  crd: KubernetesObject | undefined,
  sections: readonly (readonly [Path, readonly string[]])[],
): string[] | undefined {
  const versions = valueAt(crd, ['spec', 'versions']);
  const list: readonly unknown[] = Array.isArray(versions) ? versions : [];
  const version = list.find((one) => valueAt(one, ['name']) === VERSION && valueAt(one, ['served']) === true);
  if (version === undefined) return undefined;
  const schema = valueAt(version, ['schema', 'openAPIV3Schema']);
  return sections.flatMap(([path, names]) => {
    const section = valueAt(
      schema,
      path.flatMap((name) => ['properties', name]),
    );
    if (section === undefined || valueAt(section, ['x-kubernetes-preserve-unknown-fields']) === true) return [];
    return names
      .filter((name) => valueAt(section, ['properties', name]) === undefined)
      .map((name) => [...path, name].join('.'));
  });
}
