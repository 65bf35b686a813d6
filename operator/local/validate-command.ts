import { checkManifests } from './check-manifests.ts';
import { type Streams, readArgs, runCommand } from '../command-line.ts';
import { describeProblem } from './describe-problem.ts';
import {
  MANIFEST_OPTIONS,
  PERMISSION_OPTIONS,
  PERMISSION_USAGE,
  manifestPaths,
  permissionsOf,
} from './manifest-arguments.ts';
import { readManifests } from './manifests.ts';

export const USAGE = `Usage: mcp-operator validate [options] -f PATH...

Says what is wrong with the McpAdapters, ApiScrapeSources and McpToolLocks in the files, with file, line and column.
Resources of other kinds are left alone. The exit code is 0 when nothing is wrong, and 1 when something is or no
resource was found.

Options:
  -f, --filename PATH   a file or a folder, whose subfolders do not count; may be repeated
  --namespace NAME      namespace of resources that name none (default: default)
${PERMISSION_USAGE}
  --help                this text
`;

/** @returns the exit code */
export function validateCommand(args: readonly string[], streams: Streams): Promise<number> {
  return runCommand('validate', streams, async () => {
    const { values, positionals } = readArgs({
      args: [...args],
      allowPositionals: true,
      options: { ...MANIFEST_OPTIONS, ...PERMISSION_OPTIONS },
    });
    if (values.help) {
      streams.out(USAGE.trimEnd());
      return 0;
    }
    const paths = manifestPaths(values, positionals);
    const permissions = permissionsOf(values);
    const read = await readManifests(paths, values.namespace ?? 'default');
    const problems = [...read.problems, ...checkManifests(read.manifests, permissions)];
    for (const problem of problems) streams.err(describeProblem(problem));
    const count = read.manifests.length;
    if (count === 0 && problems.length === 0) {
      streams.err('no resource found: -f takes files and folders, but not their subfolders');
      return 1;
    }
    const found = `${count} resource${count === 1 ? '' : 's'}`;
    if (problems.length === 0) streams.out(`${found}, no problems`);
    else streams.err(`${found}, ${problems.length} problem${problems.length === 1 ? '' : 's'}`);
    return problems.length === 0 ? 0 : 1;
  });
}
