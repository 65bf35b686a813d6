import type { ParseArgsConfig } from 'node:util';

import { readArgs, type Streams, UsageError, wordOf } from '../../command-line.ts';
import type { Cluster, Where } from '../cluster/connect.ts';
import { type Format, FORMATS } from '../output/printed.ts';

/** One rule of a Role, as Kubernetes writes it. */
export interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

/** What a command has to work with. */
export interface CommandContext {
  readonly streams: Streams;
  readonly version: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly connect: (where: Where) => Promise<Cluster>;
  /** Aborted when whoever runs it has had enough. */
  readonly signal: AbortSignal;
  /** Whether the standard output is one. */
  readonly isTerminal: boolean;
}

/** Runs with the arguments behind the command's name. @returns the exit code: 0, or 1 where something is wrong */
export type Run = (args: readonly string[], context: CommandContext) => Promise<number>;

/** Options of every command that asks a cluster. */
const CLUSTER_OPTIONS = {
  namespace: { type: 'string', short: 'n' },
  context: { type: 'string' },
  kubeconfig: { type: 'string' },
  output: { type: 'string', short: 'o', default: 'text' },
} as const;

interface Given {
  readonly namespace?: string | undefined;
  readonly context?: string | undefined;
  readonly kubeconfig?: string | undefined;
  readonly output?: string | undefined;
}

export const whereOf = ({ namespace, context, kubeconfig }: Given): Where => ({ namespace, context, kubeconfig });

/** @throws UsageError */
export const formatOf = ({ output = 'text' }: Given): Format => wordOf('output', output, FORMATS);

/** Arguments of a command that asks a cluster. @throws UsageError */
export function readClusterArgs<const T extends NonNullable<ParseArgsConfig['options']>>(
  args: readonly string[],
  options: T,
) {
  return readArgs({ args: [...args], allowPositionals: true, options: { ...CLUSTER_OPTIONS, ...options } });
}

/**
 * The names that a command takes: exactly these, or up to them.
 * @param least how many there must be
 * @throws UsageError
 */
export function namesOf(positionals: readonly string[], names: readonly string[], least = names.length): string[] {
  if (positionals.length < least) throw new UsageError(`which ${names[positionals.length] ?? 'one'}?`);
  const extra = positionals[names.length];
  if (extra !== undefined) throw new UsageError(`"${extra}" is one argument too many`);
  return [...positionals];
}
