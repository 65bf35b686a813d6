import type { Problem } from '../../crds/config/problem.ts';
import { API_VERSION } from '../../crds/v1alpha1/api.ts';
import type { McpAdapter } from '../../crds/v1alpha1/mcp-adapter.ts';
import { check } from '../mcp-adapter/check.ts';
import type { FileProblem, Manifest } from './manifests.ts';
import { parsePath } from './parse-path.ts';

/** A file says nothing about the cluster that it is for, so what that must have is taken to be there. */
const SERVED = { httpRoutes: true };

/** Every problem of a resource of ours, with its place in the file; none for resources of others. */
export function checkManifest(manifest: Manifest): FileProblem[] {
  return problemsOf(manifest).map((problem) => ({
    ...problem,
    file: manifest.file,
    ...(manifest.locate(parsePath(problem.path)) ?? { line: manifest.line }),
  }));
}

function problemsOf({ object }: Manifest): readonly Problem[] {
  if (object.apiVersion.split('/')[0] !== API_VERSION.split('/')[0]) return [];
  if (object.apiVersion !== API_VERSION) {
    return [{ path: 'apiVersion', message: `is ${object.apiVersion}; this version knows ${API_VERSION}` }];
  }
  switch (object.kind) {
    case 'McpAdapter': {
      const checked = check(object, SERVED);
      return checked.ok ? [] : checked.problems;
    }
    case 'ApiScrapeSource':
      return [];
    default:
      return [{ path: 'kind', message: `is ${object.kind}; ${API_VERSION} has McpAdapter and ApiScrapeSource` }];
  }
}

/** The resource when nothing is wrong with it. */
export function acceptedAdapter(manifest: Manifest): McpAdapter | undefined {
  const { apiVersion, kind } = manifest.object;
  if (apiVersion !== API_VERSION || kind !== 'McpAdapter') return undefined;
  const checked = check(manifest.object, SERVED);
  return checked.ok ? checked.adapter : undefined;
}
