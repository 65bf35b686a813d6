import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { valueAt } from '../../lib/json/tree.ts';
import type { McpAdapter } from '../../crds/v1alpha1/mcp-adapter.ts';
import { type Streams, UsageError, readArgs, runCommand } from '../command-line.ts';
import { CONTAINER } from '../mcp-adapter/config/defaults.ts';
import { ALL_PERMISSIONS } from '../validation/permissions.ts';
import type { KubernetesObject } from '../kubernetes/kubernetes.ts';
import { checkManifests } from './check-manifests.ts';
import { describeProblem } from './describe-problem.ts';
import { MANIFEST_OPTIONS, manifestPaths } from './manifest-arguments.ts';
import { type Manifest, readManifests } from './manifests.ts';
import { inherited, runProgram } from './program.ts';
import { workloads } from './workload.ts';
import { writeVolumes } from './write-volumes.ts';

export const USAGE = `Usage: mcp-operator lock create -f PATH... [options]
       mcp-operator lock diff -f PATH... [options]
       mcp-operator lock approve -f PATH... [options] [NAME...]

Does what "mcp-adapter lock" does, with the configuration of a McpAdapter and with its McpToolLock, both from files: no
cluster is asked. The servers are, under the addresses and with the credentials of the resource, so it has to run where
they can be reached. Variables from Secrets and ConfigMaps need these among the files, or a variable of the same name in
the environment. Sidecars do not run.

Options:
  -f, --filename PATH   a file or a folder; may be repeated
  --adapter NAME        which McpAdapter, where the files have several
  --lock FILE           the lock (default: the McpToolLock of the adapter among the files, which must be alone in its file)
  --namespace NAME      namespace of resources that name none (default: default)
  --help                this text

--server, -o, --output, --force, --dry-run, the exit codes, and what is done: as "mcp-adapter lock --help" says. The lock
of create is a McpToolLock.
`;

/** Also for files that cannot be used: 1 would say that something differs. */
const CANNOT = 2;
const DEFAULT_NAMESPACE = 'default';

/** @returns the exit code, that of `mcp-adapter lock` where it comes to that */
export function lockCommand(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  streams: Streams,
  signal: AbortSignal,
): Promise<number> {
  const command = async (): Promise<number> => {
    const { values, positionals } = readArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        ...MANIFEST_OPTIONS,
        adapter: { type: 'string' },
        lock: { type: 'string' },
        server: { type: 'string', multiple: true },
        format: { type: 'string', short: 'o' },
        output: { type: 'string' },
        force: { type: 'boolean' },
        'dry-run': { type: 'boolean' },
      },
    });
    const { filename = [], namespace = DEFAULT_NAMESPACE, adapter: wanted, help, ...passed } = values;
    if (help) {
      streams.out(USAGE.trimEnd());
      return 0;
    }
    const [action] = positionals;
    if (action === undefined) throw new UsageError('one of create, diff, approve is wanted');
    const { manifests, problems } = await readManifests(manifestPaths({ filename }, []), namespace);
    const found = adapterAmong(manifests, wanted);
    const wrong = [...problems, ...checkManifests([found], ALL_PERMISSIONS)];
    for (const problem of wrong) streams.err(describeProblem(problem));
    if (wrong.length > 0) return CANNOT;
    const { name, namespace: home = namespace } = found.object.metadata;
    const target =
      action === 'create'
        ? // What names no namespace is for any.
          { adapter: home === DEFAULT_NAMESPACE ? name : `${home}/${name}` }
        : { lock: passed.lock ?? lockFileAmong(manifests, { name, namespace: home }) };
    const optionArgs = Object.entries({ ...passed, ...target }).flatMap(([option, value]) =>
      argumentsOf(option, value),
    );
    const asked = ['mcp-adapter', 'lock', ...positionals, ...optionArgs];
    return await withConfig(found, manifests, env, (config, variables) =>
      runProgram([...asked, '--config', config], { ...inherited(), ...colours(env), ...variables }, signal),
    );
  };
  return runCommand('lock', streams, command, CANNOT);
}

function argumentsOf(option: string, value: string | boolean | readonly string[] | undefined): string[] {
  if (value === undefined || value === false) return [];
  if (value === true) return [`--${option}`];
  return (typeof value === 'string' ? [value] : [...value]).map((one) => `--${option}=${one}`);
}

const colours = ({ NO_COLOR }: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  NO_COLOR === undefined ? {} : { NO_COLOR };

function adapterAmong(manifests: readonly Manifest[], wanted: string | undefined): Manifest {
  const all = manifests.filter(
    ({ object: { kind, metadata } }) => kind === 'McpAdapter' && (wanted === undefined || metadata.name === wanted),
  );
  const [only, ...more] = all;
  if (only === undefined)
    throw new UsageError(`the files have no McpAdapter${wanted === undefined ? '' : ` ${wanted}`}`);
  if (more.length === 0) return only;
  throw new UsageError(
    `the files have ${all.length} McpAdapters${wanted === undefined ? ': which? Give --adapter NAME' : ''}`,
  );
}

function lockFileAmong(manifests: readonly Manifest[], adapter: { name: string; namespace: string }): string {
  const all = manifests.filter(
    ({ object: { kind, metadata, spec } }) =>
      kind === 'McpToolLock' &&
      metadata.namespace === adapter.namespace &&
      valueAt(spec, ['adapterRef', 'name']) === adapter.name,
  );
  const [only, ...more] = all;
  if (only === undefined) {
    throw new UsageError(`the files have no McpToolLock of ${adapter.name}: give one, or --lock FILE`);
  }
  if (more.length === 0) return only.file;
  throw new UsageError(`the files have ${all.length} McpToolLocks of ${adapter.name}: give --lock FILE`);
}

/** Writes what the pods of an adapter would have into a folder of its own, for as long as `use` takes. */
async function withConfig(
  adapter: Manifest,
  manifests: readonly Manifest[],
  env: Readonly<Record<string, string | undefined>>,
  use: (config: string, variables: Readonly<Record<string, string>>) => Promise<number | undefined>,
): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-operator-lock-'));
  try {
    const data = manifests.filter(({ object: { kind } }) => kind === 'Secret' || kind === 'ConfigMap');
    const [workload] = workloads([{ ...adapter, object: withoutSidecars(adapter.object) }, ...data], folder, env);
    const pod = workload?.pod((port) => port);
    const program = pod?.containers.find(({ name }) => name === CONTAINER);
    const config = program?.command[program.command.indexOf('--config') + 1];
    if (pod === undefined || program === undefined || config === undefined) throw new Error('it has no adapter to run');
    if (pod.problems.length > 0) throw new Error(pod.problems.join('\n'));
    await writeVolumes(pod);
    return (await use(config, program.env)) ?? CANNOT;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** What they need is not needed here. */
function withoutSidecars(object: KubernetesObject): KubernetesObject {
  const { spec } = object as unknown as McpAdapter;
  const { podOverlay } = spec;
  if (podOverlay?.spec === undefined) return object;
  const { initContainers: _initContainers, containers, ...pod } = podOverlay.spec;
  const own = Array.isArray(containers) ? containers.filter((one) => valueAt(one, ['name']) === CONTAINER) : [];
  const overlay = { ...podOverlay, spec: { ...pod, ...(own.length > 0 ? { containers: own } : {}) } };
  return { ...object, spec: { ...spec, podOverlay: overlay } };
}
