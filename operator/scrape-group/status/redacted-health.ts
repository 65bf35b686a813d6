import type { ApiScrapeSource } from '../../../crds/v1alpha1/api-scrape-source.ts';
import type { Connection } from '../../validation/connections.ts';
import { redactedError } from '../../health/redacted-error.ts';
import { textAt } from '../../kubernetes/unstructured.ts';
import type { SourceHealth } from './health.ts';

/** Fields with a host that only the pods know, by the name of their resource. */
export function hiddenPlaces(connections: readonly Connection[]): ReadonlyMap<string, readonly string[]> {
  const hidden = new Map<string, readonly string[]>();
  for (const { field, target } of connections) {
    const [resource = '', path] = field.split(': ');
    if (target === undefined && path !== undefined && !hidden.has(resource)) hidden.set(resource, path.split('.'));
  }
  return hidden;
}

/** What pods say of a source, without the value of a host that only they know. @param path of the field with that host */
export const redactedHealth = (health: SourceHealth, source: ApiScrapeSource, path: readonly string[]): SourceHealth =>
  health.lastError === undefined
    ? health
    : { ...health, lastError: redactedError(health.lastError, textAt(source, ...path)) };
