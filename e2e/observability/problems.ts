import { parse, type Parsed, type Selector } from '../support/promtool/promtool.ts';
import { KNOWN_SERIES, TARGET_LABELS } from './known-series.ts';

/** An expression, and where it stands. */
export interface Expression {
  readonly where: string;
  readonly expr: string;
  /** How its series are called in a panel; `{{label}}` stands for its value. */
  readonly legend?: string;
}

/** What is wrong with expressions: no PromQL, or of a metric or label that no program has. */
export async function problemsOf(expressions: readonly Expression[]): Promise<string[]> {
  const parsed = await parse(expressions.map(({ expr }) => withoutVariables(expr)));
  return expressions.flatMap((expression, index) => {
    const found = parsed[index];
    const problems = found === undefined ? ['has no answer'] : problemsIn(found, expression.legend ?? '');
    return problems.map((problem) => `${expression.where}: ${problem}: ${expression.expr}`);
  });
}

/** Grafana puts values into texts, where PromQL takes anything, and a time where PromQL wants one. */
const withoutVariables = (expr: string): string => expr.replaceAll('$__rate_interval', '5m');

function problemsIn({ error, selectors, uses }: Parsed, legend: string): string[] {
  if (error !== undefined) return [error];
  const shown = [...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label);
  // What is not aggregated keeps all of its labels.
  const kept = uses.some(({ labels }) => labels !== null)
    ? uses.flatMap(({ labels }) => labels ?? [])
    : [...labelsOf(selectors)];
  return [
    ...selectors.flatMap(nameProblems),
    ...selectors.flatMap((one) => unknownIn(one.labels, labelsOf([one]), 'a matcher')),
    ...uses.flatMap((use) => unknownIn(use.labels ?? [], labelsOf(use.selectors), 'an aggregation')),
    ...unknownIn(shown, new Set([...kept, ...TARGET_LABELS]), 'the legend'),
  ];
}

const unknownIn = (labels: readonly string[], known: ReadonlySet<string>, where: string): string[] =>
  labels.filter((label) => !known.has(label)).map((label) => `no series has the label ${label} of ${where}`);

function nameProblems(selector: Selector): string[] {
  const names = namesOf(selector);
  if (names.length === 0) return ['a selector names no metric'];
  return names.flatMap((name) => {
    const known = KNOWN_SERIES.get(name);
    if (known === undefined) return [`there is no metric ${name}`];
    const missing = known.names.filter((other) => !names.includes(other));
    return missing.map((other) => `${name} can be called ${other} too, which is not looked for`);
  });
}

/** A name, or the alternatives of one. */
const namesOf = ({ match, metric }: Selector): string[] =>
  match === '=' ? [metric] : match === '=~' && /^[\w|]+$/.test(metric) ? metric.split('|') : [];

const labelsOf = (selectors: readonly Selector[]): Set<string> =>
  new Set(selectors.flatMap(namesOf).flatMap((name) => [...(KNOWN_SERIES.get(name)?.labels ?? [])]));
