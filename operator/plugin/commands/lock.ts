import { UsageError } from '../../command-line.ts';
import type { KubernetesObject } from '../../kubernetes/kubernetes.ts';
import { MCP_TOOL_LOCKS } from '../../kubernetes/resources.ts';
import { ANSWER_LIMITS, parseJson } from '../../../lib/json/json-limits.ts';
import { ProblemError } from '../cluster/failures.ts';
import { type Format, printed } from '../output/printed.ts';
import { coloured } from '../output/visible.ts';
import { type CommandContext, formatOf, namesOf, readClusterArgs, type Run, whereOf } from './command.ts';
import { asWritten, findLock, lockInForce } from './lock/lock-in-force.ts';
import { askedLock, lockOf, type PodLockAnswer } from './lock/pod-lock.ts';
import { replaceServers } from './lock/replace-servers.ts';

const WRONG_USE = 2;

const OPTIONS = { server: { type: 'string', multiple: true }, 'dry-run': { type: 'string' } } as const;

interface Given {
  readonly 'dry-run'?: string | undefined;
  readonly output?: string | undefined;
}

/** @throws UsageError */
function isDryRun({ 'dry-run': dryRun, output = 'text' }: Given): boolean {
  if (dryRun !== undefined && dryRun !== 'client') throw new UsageError('--dry-run must be client');
  if (dryRun === undefined && output !== 'text') throw new UsageError('-o goes with --dry-run=client');
  return dryRun === 'client';
}

export const create: Run = async (args, context) => {
  const { values, positionals } = readClusterArgs(args, OPTIONS);
  const [name = ''] = namesOf(positionals, ['McpAdapter']);
  const [format, isDry] = [formatOf(values), isDryRun(values)];
  await using cluster = await context.connect(whereOf(values));
  const { api, namespace } = cluster;
  const before = isDry ? undefined : await findLock(cluster, name);
  if (before !== undefined) {
    throw new ProblemError(
      `the McpAdapter ${name} has the McpToolLock ${before.metadata.name}; "lock approve" changes it`,
    );
  }
  const { apiVersion, kind } = MCP_TOOL_LOCKS;
  const lock = { apiVersion, kind, metadata: { name, namespace }, spec: { adapterRef: { name } } };
  const made = await askedLock(cluster, name, { action: 'create', lock, servers: values.server ?? [] });
  printNotes(made, context);
  if (made.exitCode === WRONG_USE) return WRONG_USE;
  const object = lockOf(lock, made.text);
  if (isDry) return shown(object, format, made, context);
  if (made.exitCode === 3) {
    context.streams.err('nothing is created: what did not answer would be locked out; see --server');
    return made.exitCode;
  }
  await api.create(object, MCP_TOOL_LOCKS, context.signal);
  context.streams.out(`McpToolLock ${name} is created; the pods are replaced once`);
  return made.exitCode;
};

export const diff: Run = async (args, context) => {
  const { values, positionals } = readClusterArgs(args, { server: OPTIONS.server });
  const [name = ''] = namesOf(positionals, ['McpAdapter']);
  const format = formatOf(values);
  const isText = format === 'text' || format === 'wide';
  await using cluster = await context.connect(whereOf(values));
  const found = await askedLock(cluster, name, {
    action: 'diff',
    lock: asWritten(await lockInForce(cluster, name)),
    servers: values.server ?? [],
    output: isText ? 'text' : 'json',
    coloured: isText && context.isTerminal && !context.env['NO_COLOR'],
  });
  const { streams } = context;
  const differences = found.text.trimEnd();
  if (!isText) streams.out(printed(format, parseJson(differences, ANSWER_LIMITS) as object, () => ''));
  else if (differences !== '') streams.out(coloured(differences));
  printNotes(found, context);
  return found.exitCode;
};

export const approve: Run = async (args, context) => {
  const { values, positionals } = readClusterArgs(args, OPTIONS);
  const [name, ...names] = positionals;
  if (name === undefined) throw new UsageError('which McpAdapter?');
  const [format, isDry] = [formatOf(values), isDryRun(values)];
  await using cluster = await context.connect(whereOf(values));
  const { streams } = context;
  const before = await lockInForce(cluster, name);
  const lock = asWritten(before);
  const done = await askedLock(cluster, name, { action: 'approve', lock, servers: values.server ?? [], names });
  printNotes(done, context);
  if (done.exitCode === WRONG_USE) return WRONG_USE;
  const object = lockOf(lock, done.text);
  if (isDry) return shown(object, format, done, context);
  const what = `McpToolLock ${before.metadata.name}`;
  if (done.approved.length === 0) {
    streams.out(`${what} stays as it is`);
    return done.exitCode;
  }
  await replaceServers(cluster, { name, before, object }, context.signal);
  for (const one of done.approved) streams.out(coloured(`approved: ${one}`));
  streams.out(`${what} is changed`);
  return done.exitCode;
};

/** What was asked for and is not done, or differs, in words. */
function printNotes({ notes }: PodLockAnswer, { streams }: CommandContext): void {
  for (const note of notes) streams.err(coloured(note));
}

function shown(
  object: KubernetesObject,
  format: Format,
  { exitCode }: PodLockAnswer,
  { streams }: CommandContext,
): number {
  streams.out(printed(format === 'json' ? 'json' : 'yaml', object, () => ''));
  return exitCode;
}
