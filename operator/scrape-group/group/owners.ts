import type { ApiScrapeSource } from '../../../crds/v1alpha1/api-scrape-source.ts';
import type { OwnerReference } from '../../kubernetes/kubernetes.ts';

/**
 * Every source of a group owns its objects, so that they go with the last one. None is their controller: an object has
 * only one of these.
 */
export const ownerReferences = (sources: readonly ApiScrapeSource[]): OwnerReference[] =>
  sources
    .map(({ apiVersion, kind, metadata: { name, uid = '' } }) => ({ apiVersion, kind, name, uid }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
