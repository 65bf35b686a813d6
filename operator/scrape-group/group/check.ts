import { checkUnresolved } from '../../../crds/config/load/load.ts';
import type { Problem } from '../../../crds/config/load/problem.ts';
import { hasReference, resolvedLength } from '../../../lib/references/reference.ts';
import { ScraperConfig } from '../../../crds/config/scraper-file/scraper.ts';
import type { EnvFrom, EnvVar } from '../../../crds/v1alpha1/api.ts';
import { ApiScrapeSourceSpec } from '../../../crds/v1alpha1/api-scrape-source.ts';
import { sourceLimitProblems } from '../../../crds/v1alpha1/limits.ts';
import { type Blocking, blockedFields } from '../../validation/blocked.ts';
import { overlayProblems } from '../../validation/check-overlay.ts';
import { quantityProblems } from '../../validation/check-resources.ts';
import type { Budget } from '../../tasks/budget.ts';
import { refusedByPolicy } from '../../validation/check-restricted.ts';
import { literalSecrets } from '../../validation/literal-secrets.ts';
import { knownLengthProblems, uncheckedResolver } from '../../validation/known-values.ts';
import type { Permissions } from '../../validation/permissions.ts';
import { placesOf, settingsConnections, sourceConnections } from './connections.ts';
import { listAt } from '../../kubernetes/unstructured.ts';
import { CONFIG_FOLDER, CONTAINER, STATE, STATE_FOLDER } from './defaults.ts';
import type { Settings } from './settings.ts';

/** When nobody sets it, it is missing rather than wrong. */
const ENDPOINT = 'scraper.otelCollectorEndpoint';
/** One source must leave room in the file for the comments and the settings. */
const MAX_SOURCE_BYTES = 512 * 1024;

/**
 * What is wrong with a spec by itself, with paths from the spec. A value that holds a reference can only be judged by
 * the program that resolves it.
 * @throws BudgetError when it takes too long
 */
export function checkSpec(
  spec: ApiScrapeSourceSpec,
  { permissions, budget, namespace, prefix }: CheckContext,
): Problem[] {
  const large = tooLarge(spec, prefix);
  if (large.length > 0) return large;
  budget.step('source');
  const problems = [...checkUnresolved(ApiScrapeSourceSpec, spec), ...variableProblems(spec), ...bucketProblems(spec)];
  budget.step('source');
  const { source, scraper } = spec;
  const secrets = permissions.literalSecrets ? [] : literalSecrets({ source, scraper }, []);
  budget.step('source');
  return [
    ...problems,
    ...blockedProblems(spec, { namespace, apiServer: permissions.apiServer }),
    ...secrets,
    ...overlay(spec, permissions),
  ];
}

export interface CheckContext {
  readonly permissions: Permissions;
  readonly budget: Budget;
  readonly namespace: string;
  /** What stands before the names of its variables in the pods. */
  readonly prefix: string;
}

/** What would take long to look at is looked at no further. */
function tooLarge(spec: ApiScrapeSourceSpec, prefix: string): Problem[] {
  const { source, scraper } = spec;
  const bytes = bytesProblems(spec, prefix);
  if (bytes.length > 0) return bytes;
  const limits = sourceLimitProblems(source).map((problem) => ({ ...problem, path: `source.${problem.path}` }));
  return [
    ...limits,
    ...knownLengthProblems(spec, source, ['source']),
    ...knownLengthProblems(spec, scraper, ['scraper']),
  ];
}

/** What is wrong with the settings of a group taken together: what no source can know alone. Paths as in the spec. */
export function checkGroupSettings(scraper: Record<string, unknown>, settings: Settings): Problem[] {
  const known = settings.has(ENDPOINT);
  const problems = checkUnresolved(ScraperConfig, { scraper, sources: [] }).filter(
    ({ path }) => known || path !== ENDPOINT,
  );
  const replicas = settings.get('replicas')?.value;
  const backend = settings.get('scraper.fingerprintStore.backend')?.value ?? 'sqlite';
  if (typeof replicas === 'number' && replicas > 1 && backend === 'sqlite') {
    const path = 'scraper.fingerprintStore.backend';
    problems.push({ path, message: `must be valkey with ${replicas} replicas: they share their state there` });
  }
  const port = settings.get('scraper.servicePort')?.value;
  if (typeof port === 'string' && hasReference(port)) {
    problems.push({
      path: 'scraper.servicePort',
      message: 'must be written out, without ${…}: the pods are made with it',
    });
  }
  return problems;
}

/** Files may have them in any order; in a resource there is somebody to tell. */
const bucketProblems = (spec: ApiScrapeSourceSpec): Problem[] =>
  listAt(spec, 'source', 'histogramReadings').flatMap((reading, index) => {
    const buckets = listAt(reading, 'buckets').map(Number);
    const wrong = buckets.findIndex((bound, at) => at > 0 && bound <= (buckets[at - 1] ?? -Infinity));
    if (wrong === -1) return [];
    const message = `is ${buckets[wrong]}, which is not more than the one before it: bounds of buckets ascend`;
    return [{ path: `source.histogramReadings[${index}].buckets[${wrong}]`, message }];
  });

/** What would make the API server refuse the pods, and so stop all sources of the group. */
function variableProblems(spec: ApiScrapeSourceSpec): Problem[] {
  const seen = new Set<string>();
  const env = (spec.env ?? []).flatMap((variable: EnvVar, index): Problem[] => {
    const isDuplicate = seen.has(variable.name);
    seen.add(variable.name);
    const { value, valueFrom } = variable;
    return [
      ...(isDuplicate ? [{ path: `env[${index}].name`, message: `is there twice: ${variable.name}` }] : []),
      ...(value !== undefined && valueFrom !== undefined
        ? [{ path: `env[${index}]`, message: 'can have only one of value, valueFrom' }]
        : []),
      ...(valueFrom === undefined
        ? []
        : exactlyOne(valueFrom, `env[${index}].valueFrom`, ['secretKeyRef', 'configMapKeyRef'])),
    ];
  });
  const envFrom = (spec.envFrom ?? []).flatMap((from: EnvFrom, index) =>
    exactlyOne(from, `envFrom[${index}]`, ['secretRef', 'configMapRef']),
  );
  return [...env, ...envFrom];
}

/** Connections whose hosts the resource itself tells. */
function blockedProblems(spec: ApiScrapeSourceSpec, blocking: Blocking): Problem[] {
  const resolve = uncheckedResolver(spec);
  const connections = [
    ...sourceConnections(resolve(placesOf(spec.source)), ''),
    ...settingsConnections(resolve(spec.scraper), ''),
  ];
  return blockedFields(connections, blocking).map(({ field, message }) => ({ path: field, message }));
}

function exactlyOne(value: object, path: string, names: readonly string[]): Problem[] {
  const set = names.filter((name) => Reflect.get(value, name) !== undefined);
  return set.length === 1 ? [] : [{ path, message: `needs exactly one of ${names.join(', ')}` }];
}

/** As the source stands in the file, where its variables have longer names. */
function bytesProblems({ source }: ApiScrapeSourceSpec, prefix: string): Problem[] {
  const text = JSON.stringify(source ?? null);
  const references = resolvedLength(text, (name) => prefix.length + name.length + 3) - text.length;
  const bytes = Buffer.byteLength(text) + Math.max(0, references);
  if (bytes <= MAX_SOURCE_BYTES) return [];
  return [{ path: 'source', message: `must be at most 512 KiB as JSON, not ${Math.ceil(bytes / 1024)} KiB` }];
}

/** Which of the group's accounts and claims a shard gets is not for a source to say. */
const OWN = { account: undefined, claims: [], container: CONTAINER };

const MOUNTS = { [CONFIG_FOLDER]: 'config', [STATE_FOLDER]: STATE };

const overlay = (spec: ApiScrapeSourceSpec, { podOverlay }: Permissions): Problem[] =>
  [
    ...overlayProblems({ spec }, { name: CONTAINER, port: 'scraper.servicePort', mounts: MOUNTS }),
    ...quantityProblems({ spec }),
    ...refusedByPolicy({ spec }, podOverlay, OWN),
  ].map((problem) => ({
    ...problem,
    path: problem.path.replace(/^spec\./, ''),
  }));
