import { referencesRevision as revisionFor } from '../mcp-adapter/revision.ts';
import type { KubernetesObject } from '../runtime/kubernetes.ts';
import type { ScraperHealth } from './health.ts';

/** See the function of the same name for adapters, which looks at nothing else of a pod's health. */
export const referencesRevision = (
  deployment: KubernetesObject | undefined,
  newest: readonly KubernetesObject[],
  health: readonly ScraperHealth[],
): string | undefined =>
  revisionFor(
    deployment,
    newest,
    health.map(({ pod, referencesChanged }) => ({
      pod,
      referencesChanged,
      servers: [],
      stateStore: { healthy: true, detail: undefined },
    })),
  );
