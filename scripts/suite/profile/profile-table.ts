import type { FileResult } from '../second-attempt.ts';

const ROWS = 30;

/** The files that took longest, what each took of a processor, and the sums of each suite. */
export function profileTable(files: readonly FileResult[]): string {
  const longest = files.toSorted((a, b) => b.seconds - a.seconds).slice(0, ROWS);
  const rows = longest.map(({ file, seconds, cpuSeconds }) => row(seconds, cpuSeconds, file));
  const sums = [...Map.groupBy(files, ({ suite }) => suite)].map(([suite, ofSuite]) =>
    row(
      sum(ofSuite.map(({ seconds }) => seconds)),
      sum(ofSuite.map(({ cpuSeconds = Number.NaN }) => cpuSeconds)),
      `${suite}: ${ofSuite.length} files`,
    ),
  );
  return [' SECONDS      CPU  FILE', ...rows, '', ...sums].join('\n');
}

const row = (seconds: number, cpuSeconds: number | undefined, name: string): string =>
  `${seconds.toFixed(1).padStart(8)} ${shown(cpuSeconds).padStart(8)}  ${name}`;

/** A dash where the system does not tell, or where the file did not get as far. */
const shown = (cpuSeconds = Number.NaN): string => (Number.isNaN(cpuSeconds) ? '-' : cpuSeconds.toFixed(1));

const sum = (numbers: readonly number[]): number =>
  numbers.reduce((total, one) => total + (Number.isNaN(one) ? 0 : one), 0);
