import type { Problem } from '../../crds/config/load/problem.ts';
import { API_VERSION } from '../../crds/v1alpha1/api.ts';
import type { McpAdapter } from '../../crds/v1alpha1/mcp-adapter.ts';
import type { ApiScrapeSource } from '../../crds/v1alpha1/api-scrape-source.ts';
import { type Checked, check } from '../mcp-adapter/check/check.ts';
import { preparing } from '../scrape-group/group/prepare.ts';
import { ownFilesBudget, withinBudget } from '../tasks/budget.ts';
import type { Permissions } from '../validation/permissions.ts';
import type { KubernetesObject } from '../kubernetes/kubernetes.ts';
import type { FileProblem, Manifest } from './manifests.ts';
import { parsePath } from './parse-path.ts';
import { groupsOf, isSource } from './scrape-groups.ts';
import { lockProblems } from './tool-locks.ts';

/** A file says nothing about the cluster that it is for, so what that must have is taken to be there. */
const SERVED = { httpRoutes: true };

/** Every problem of the resources of ours, each with its place in the file, in the order of the files. */
export function checkManifests(manifests: readonly Manifest[], permissions: Permissions): FileProblem[] {
  const refused = new Map(
    groupsOf(manifests, permissions).flatMap(({ sources, group }) =>
      sources.flatMap((manifest) => {
        const refusal = group.refusals.get(manifest.object.metadata.name);
        return refusal === undefined || OWN_REASONS.has(refusal.reason) ? [] : [[manifest, refusal.message] as const];
      }),
    ),
  );
  return manifests.flatMap((manifest) => {
    const message = refused.get(manifest);
    const problems = [
      ...problemsOf(manifest, permissions),
      ...(message === undefined ? [] : [{ path: 'spec', message }]),
    ];
    return problems.map((problem) => ({
      ...problem,
      file: manifest.file,
      ...(manifest.locate(parsePath(problem.path)) ?? { line: manifest.line }),
    }));
  });
}

/** Reasons that a source has by itself, without its group. */
const OWN_REASONS: ReadonlySet<string> = new Set(['InvalidSpec', 'UndeclaredVariable']);

function problemsOf(manifest: Manifest, permissions: Permissions): readonly Problem[] {
  const { object } = manifest;
  if (object.apiVersion.split('/')[0] !== API_VERSION.split('/')[0]) return [];
  if (object.apiVersion !== API_VERSION) {
    return [{ path: 'apiVersion', message: `is ${object.apiVersion}; this version knows ${API_VERSION}` }];
  }
  switch (object.kind) {
    case 'McpAdapter': {
      const checked = checkOwn(object, permissions);
      return checked.ok ? [] : checked.problems;
    }
    case 'ApiScrapeSource':
      return sourceProblems(manifest, permissions);
    case 'McpToolLock':
      return lockProblems(manifest);
    default:
      return [
        { path: 'kind', message: `is ${object.kind}; ${API_VERSION} has McpAdapter, ApiScrapeSource and McpToolLock` },
      ];
  }
}

const checkOwn = (object: KubernetesObject, permissions: Permissions): Checked =>
  withinBudget(
    'spec',
    (budget) => check(object, SERVED, permissions, budget),
    (problem) => ({ ok: false, reason: 'InvalidSpec', problems: [problem] }),
    ownFilesBudget,
  );

/** The resource when nothing is wrong with it. */
export function acceptedAdapter(manifest: Manifest, permissions: Permissions): McpAdapter | undefined {
  const { apiVersion, kind } = manifest.object;
  if (apiVersion !== API_VERSION || kind !== 'McpAdapter') return undefined;
  const checked = checkOwn(manifest.object, permissions);
  return checked.ok ? checked.adapter : undefined;
}

function sourceProblems(manifest: Manifest, permissions: Permissions): readonly Problem[] {
  if (!isSource(manifest))
    return [{ path: 'spec', message: 'needs source: an entry as in `sources` of the scraper’s file' }];
  const { problems } = preparing(permissions)(manifest.object as unknown as ApiScrapeSource);
  return problems.map(({ path, message }) => ({ path: `spec${path === '' ? '' : '.'}${path}`, message }));
}
