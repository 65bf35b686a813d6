import type { Problem } from '../../crds/config/problem.ts';
import type { EnvFrom, EnvVar } from '../../crds/v1alpha1/api.ts';
import type { ApiScrapeSource } from '../../crds/v1alpha1/api-scrape-source.ts';
import { type Budget, ownFilesBudget, withinBudget } from '../pods/budget.ts';
import type { Permissions } from '../pods/permissions.ts';
import { sizeProblems } from '../pods/size.ts';
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
  return (source) =>
    withinBudget(
      'source',
      (budget) => prepared(source, permissions, budget),
      ({ path, message }) => ({
        problems: [{ path, message, reason: 'InvalidSpec' }],
        settings: [],
        member: undefined,
      }),
      budgetOf,
    );
}

/** As `preparing`, and does an object only once, as long as the object lives: the objects of caches never change. */
export function rememberingPrepare(prepare: Prepare): Prepare {
  const known = new WeakMap<ApiScrapeSource, Prepared>();
  return (source) => {
    const prepared = known.get(source) ?? prepare(source);
    known.set(source, prepared);
    return prepared;
  };
}

function prepared(source: ApiScrapeSource, permissions: Permissions, budget: Budget): Prepared {
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

function problemsOf({ metadata, spec }: ApiScrapeSource, permissions: Permissions, budget: Budget): SpecProblem[] {
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

function memberOf({ metadata: { name }, spec }: ApiScrapeSource): Member {
  const entry = renamedReferences<unknown>(spec.source, name) as Record<string, unknown>;
  return { resource: name, entry, text: renderEntry(name, entry), ...podVariables(spec, name) };
}
