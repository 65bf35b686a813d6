import { setImmediate } from 'node:timers/promises';
import type { Problem } from '../../../crds/config/load/problem.ts';
import type { EnvFrom, EnvVar } from '../../../crds/v1alpha1/api.ts';
import type { ApiScrapeSource } from '../../../crds/v1alpha1/api-scrape-source.ts';
import { Budget, RESOURCE_MS, ownFilesBudget, withinBudget } from '../../tasks/budget.ts';
import { RefusedError } from '../../tasks/refused-error.ts';
import type { TaskRunner, Task } from '../../tasks/task.ts';
import type { Permissions } from '../../validation/permissions.ts';
import { sizeProblems } from '../../validation/size.ts';
import { checkSpec } from './check.ts';
import { renderEntry } from './scraper-file.ts';
import { type Setting, namedVariables, settingsOf } from './settings.ts';
import { podVariables, renamedReferences, undeclaredVariables, variablePrefix } from './variables.ts';

/** A source that runs, as it stands in the file and the environment of the pods. */
export interface Member {
  /** Name of its resource. */
  readonly resource: string;
  readonly entry: Readonly<Record<string, unknown>>;
  /** The entry as it stands in the file. */
  readonly text: string;
  readonly env: readonly EnvVar[];
  readonly envFrom: readonly EnvFrom[];
}

/** What a resource comes to by itself, before its group is looked at. */
export interface Prepared {
  readonly problems: readonly SpecProblem[];
  readonly settings: readonly Setting[];
  /** Undefined when there are problems. */
  readonly member: Member | undefined;
}

export type Prepare = (source: ApiScrapeSource) => Prepared;

/**
 * @param budgetOf what one resource may take; a resource that takes longer has that as its problem
 */
export function preparing(permissions: Permissions, budgetOf: () => Budget = ownFilesBudget): Prepare {
  return (source) => withinBudget('source', (budget) => prepared(source, permissions, budget), refused, budgetOf);
}

interface PrepareInput {
  readonly source: Pick<ApiScrapeSource, 'metadata' | 'spec'>;
  readonly permissions: Permissions;
}

export const PREPARE: Task<PrepareInput, Prepared> = {
  name: 'prepare-source',
  run: ({ source, permissions }, budget) => prepared(source, permissions, budget),
};

/** Prepares sources, each in the time that one resource may take, before their group is looked at. */
export type PrepareAll = (sources: readonly ApiScrapeSource[], signal: AbortSignal) => Promise<Prepare>;

/** Does an object only once, as long as the object lives: the objects of caches never change. */
export function rememberingPrepare(permissions: Permissions, taskRunner: TaskRunner): PrepareAll {
  const known = new WeakMap<ApiScrapeSource, Prepared>();
  const prepare = async ({ metadata, spec }: ApiScrapeSource, signal: AbortSignal): Promise<Prepared> => {
    const id = `${metadata.uid} ${metadata.generation}`;
    const subject = { id, path: 'source', budget: new Budget(RESOURCE_MS), signal };
    try {
      return await taskRunner.run(PREPARE, { source: { metadata, spec }, permissions }, subject);
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error;
      return refused(error.problem);
    }
  };
  return async (sources, signal) => {
    const all = new Map<ApiScrapeSource, Prepared>();
    let since = performance.now();
    for (const source of sources) {
      const one = known.get(source) ?? (await prepare(source, signal));
      known.set(source, one);
      all.set(source, one);
      if (performance.now() - since < RESOURCE_MS) continue;
      // Of thousands, each takes its time.
      await setImmediate();
      since = performance.now();
    }
    return (source) => all.get(source) ?? refused({ path: 'source', message: 'came too late' });
  };
}

const refused = ({ path, message }: Problem): Prepared => ({
  problems: [{ path, message, reason: 'InvalidSpec' }],
  settings: [],
  member: undefined,
});

function prepared(
  source: Pick<ApiScrapeSource, 'metadata' | 'spec'>,
  permissions: Permissions,
  budget: Budget,
): Prepared {
  const large = sizeProblems(source.spec, []);
  if (large.length > 0) {
    const problems = large.map(({ message }) => ({ path: 'source', message, reason: 'InvalidSpec' as const }));
    return { problems, settings: [], member: undefined };
  }
  const problems = problemsOf(source, permissions, budget);
  budget.step('source');
  const settings = settingsOf(source);
  budget.step('source');
  const member = problems.length > 0 ? undefined : memberOf(source);
  budget.step('source');
  return { problems, settings, member };
}

/** One thing that is wrong with a spec; its path begins there. */
export interface SpecProblem extends Pick<Problem, 'path' | 'message'> {
  readonly reason: 'InvalidSpec' | 'UndeclaredVariable';
}

function problemsOf(
  { metadata, spec }: Pick<ApiScrapeSource, 'metadata' | 'spec'>,
  permissions: Permissions,
  budget: Budget,
): SpecProblem[] {
  const prefix = variablePrefix(metadata.name);
  const invalid = checkSpec(spec, { permissions, budget, namespace: metadata.namespace ?? 'default', prefix }).map(
    ({ path, message }) => ({
      path,
      message,
      reason: 'InvalidSpec' as const,
    }),
  );
  const { source, scraper } = spec;
  const undeclared = [
    ...undeclaredVariables({ source, scraper }, spec),
    ...undeclaredVariables(namedVariables(spec), spec),
  ];
  return [
    ...invalid,
    ...undeclared.map(({ path, name }) => ({
      path,
      message: `refers to the variable ${name}, which neither spec.env nor spec.envFrom declares; declare it there or write \${${name}:-default}`,
      reason: 'UndeclaredVariable' as const,
    })),
  ];
}

function memberOf({ metadata: { name }, spec }: Pick<ApiScrapeSource, 'metadata' | 'spec'>): Member {
  const entry = renamedReferences<unknown>(spec.source, name) as Record<string, unknown>;
  return { resource: name, entry, text: renderEntry(name, entry), ...podVariables(spec, name) };
}
