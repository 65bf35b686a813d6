import { stringify } from 'yaml';
import { build } from '../mcp-adapter/build/build.ts';
import { acceptedAdapter, checkManifests } from './check-manifests.ts';
import { type Streams, UsageError, readArgs, runCommand } from '../command-line.ts';
import { describeProblem } from './describe-problem.ts';
import {
  MANIFEST_OPTIONS,
  PERMISSION_OPTIONS,
  PERMISSION_USAGE,
  manifestPaths,
  permissionsOf,
} from './manifest-arguments.ts';
import { readManifests } from './manifests.ts';
import { groupsOf } from './scrape-groups.ts';
import { lockAmong } from './tool-locks.ts';

export const USAGE = `Usage: mcp-operator render [options] -f PATH...

Prints the objects that the operator would make of the resources in the files, as YAML.

Options:
  -f, --filename PATH   a file or a folder; may be repeated
  --image IMAGE         image of the pods whose resource names none (default: mcp-adapter)
  --pod-security WORD   restricted or openshift (default: restricted)
  --namespace NAME      namespace of resources that name none (default: default)
${PERMISSION_USAGE}
  --help                this text

Without a cluster nothing is known about Services, so a NetworkPolicy may be wider than there.
`;

/** @returns the exit code: 1 when a resource is invalid */
export function renderCommand(args: readonly string[], streams: Streams): Promise<number> {
  return runCommand('render', streams, async () => {
    const { values, positionals } = readArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        ...MANIFEST_OPTIONS,
        ...PERMISSION_OPTIONS,
        image: { type: 'string' },
        'pod-security': { type: 'string' },
      },
    });
    if (values.help) {
      streams.out(USAGE.trimEnd());
      return 0;
    }
    const paths = manifestPaths(values, positionals);
    const permissions = permissionsOf(values);
    const podSecurity = values['pod-security'] ?? 'restricted';
    if (podSecurity !== 'restricted' && podSecurity !== 'openshift') {
      throw new UsageError(`--pod-security must be restricted or openshift, not "${podSecurity}"`);
    }
    const image = values.image ?? 'mcp-adapter';
    const print = (object: object): void => streams.out(`---\n${stringify(object).trimEnd()}`);
    const read = await readManifests(paths, values.namespace ?? 'default');
    const problems = [...read.problems, ...checkManifests(read.manifests, permissions)];
    for (const problem of problems) streams.err(describeProblem(problem));
    for (const manifest of read.manifests) {
      const adapter = acceptedAdapter(manifest, permissions);
      if (adapter === undefined) continue;
      const lock = lockAmong(read.manifests, adapter);
      const children = build(adapter, {
        image,
        podSecurity,
        apiServer: permissions.apiServer,
        serves: { httpRoutes: true, serviceMonitors: true },
        services: () => undefined,
        referencesRevision: undefined,
        isLocked: lock.length > 0,
      });
      for (const { object } of [...lock, ...children]) print(object);
    }
    for (const group of groupsOf(read.manifests, permissions)) group.objects(image, podSecurity).forEach(print);
    return problems.length > 0 ? 1 : 0;
  });
}
