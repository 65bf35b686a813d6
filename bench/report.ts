import { describeGoal, describeMeasured } from './goals.ts';
import type { Judgement } from './goals.ts';
import { estimate, metricNames, metrics } from './samples.ts';
import type { Metric, Sample } from './samples.ts';

/** What an experiment gave. */
export interface Outcome {
  readonly experiment: string;
  readonly samples: readonly Sample[];
  readonly judgements: readonly Judgement[];
  /** Targets that do not exist here, with the reason. */
  readonly absent: ReadonlyMap<string, string>;
  /** What broke: a target that failed to start, is not what it was configured to be, or answered wrongly. */
  readonly failures: readonly string[];
}

/** A GitHub table; numbers are aligned to the right. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const numeric = head.map((_, i) => i > 0 && rows.length > 0 && rows.every((row) => /^[–\d]/u.test(row[i] ?? '')));
  return [
    tableLine(head),
    `|${numeric.map((right) => (right ? '--:' : '---')).join('|')}|`,
    ...rows.map(tableLine),
  ].join('\n');
}

function tableLine(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

/** Medians of one experiment: a row for each case and target, a column for each quantity measured. */
export function measurementTable(samples: readonly Sample[]): string {
  const seen = metricNames.filter((metric) => samples.some((sample) => metric in sample.values));
  const rows = new Map(samples.map((sample) => [`${sample.case} ${sample.target}`, sample]));
  return markdownTable(
    ['case', 'target', ...seen.map((metric) => columnTitle(metric)), 'calm samples'],
    [...rows.values()].map((row) => {
      const same = samples.filter((sample) => sample.case === row.case && sample.target === row.target);
      return [
        row.case,
        row.target,
        ...seen.map((metric) => estimate(samples, row, metric)?.value.toFixed(metrics[metric].digits) ?? '–'),
        same.some(({ calm }) => calm === undefined)
          ? `– of ${same.length}`
          : `${same.filter(({ calm }) => calm).length} of ${same.length}`,
      ];
    }),
  );
}

function columnTitle(metric: Metric): string {
  const { title, unit } = metrics[metric];
  return unit === '/s' || unit === '×' ? title : `${title}, ${unit}`;
}

/** All goals with what was measured and whether that is enough. */
export function goalTable(outcomes: readonly Outcome[]): string {
  const rows = outcomes.flatMap(({ experiment, judgements, absent }) =>
    judgements.map((judgement) => {
      const reason = absent.get(judgement.goal.target) ?? absent.get(judgement.goal.to?.target ?? '');
      const verdict =
        judgement.verdict === 'not measured' && reason !== undefined ? `not measured: ${reason}` : judgement.verdict;
      return [experiment, describeGoal(judgement.goal), describeMeasured(judgement), verdict];
    }),
  );
  return markdownTable(['experiment', 'goal', 'measured', 'verdict'], rows);
}

/** The whole report: measurements, goals, and what broke. */
export function report(outcomes: readonly Outcome[]): string {
  const parts = outcomes
    .filter(({ samples }) => samples.length > 0)
    .map(({ experiment, samples }) => `## ${experiment}\n\n${measurementTable(samples)}`);
  if (outcomes.some(({ judgements }) => judgements.length > 0)) parts.push(`## Goals\n\n${goalTable(outcomes)}`);
  const failures = outcomes.flatMap(({ experiment, failures }) =>
    failures.map((failure) => `- ${experiment}: ${failure}`),
  );
  if (failures.length > 0) parts.push(`## Broken\n\n${failures.join('\n')}`);
  return parts.join('\n\n');
}
