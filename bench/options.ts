import { parseArgs } from 'node:util';

/** What one run of the benchmark does. */
export interface Options {
  /** Names of the experiments, in the order in which they run. */
  readonly experiments: readonly string[];
  /** How often every case is measured on every target. */
  readonly rounds: number;
  /** Measured seconds of one sample. */
  readonly seconds: number;
  /** Unmeasured seconds before each sample. */
  readonly warmUp: number;
  /** Where the raw samples go; undefined means `bench/results/latest.json`. */
  readonly json: string | undefined;
  readonly quick: boolean;
}

export type Parsed =
  | { readonly kind: 'run'; readonly options: Options }
  | { readonly kind: 'help' }
  | { readonly kind: 'misuse'; readonly reason: string };

/** What the parser must know of an experiment. */
export interface ExperimentName {
  readonly name: string;
  readonly summary: string;
  /** Takes so long that it runs only with `--long`. */
  readonly long?: boolean;
}

// Many short rounds rather than few long ones: what is compared must be close in time.
const full = { rounds: 9, seconds: 2, warmUp: 1 };
const quick = { rounds: 2, seconds: 1, warmUp: 0.5 };

/** Reads the command line. Without names every experiment is chosen, the long ones only with `--long`. */
export function parseOptions(argv: readonly string[], known: readonly ExperimentName[]): Parsed {
  let parsed;
  try {
    parsed = parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        rounds: { type: 'string' },
        seconds: { type: 'string' },
        quick: { type: 'boolean', default: false },
        json: { type: 'string' },
        long: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
  } catch (error) {
    return misuse(error instanceof Error ? error.message : String(error));
  }
  const { values, positionals } = parsed;
  if (values.help) return { kind: 'help' };

  for (const name of positionals) {
    const experiment = known.find((one) => one.name === name);
    if (experiment === undefined) return misuse(`there is no experiment "${name}"`);
    if (experiment.long && !values.long) return misuse(`"${name}" takes long: add --long`);
  }
  const chosen = known.filter(({ name, long }) =>
    positionals.length > 0 ? positionals.includes(name) : values.long || !long,
  );
  const preset = values.quick ? quick : full;
  const rounds = values.rounds === undefined ? preset.rounds : Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < 1 || rounds > 100)
    return misuse('--rounds takes a whole number from 1 to 100');
  const seconds = values.seconds === undefined ? preset.seconds : Number(values.seconds);
  if (!(seconds >= 0.2 && seconds <= 600)) return misuse('--seconds takes a number from 0.2 to 600');
  if (values.json === '') return misuse('--json takes a file name');
  return {
    kind: 'run',
    options: {
      experiments: chosen.map(({ name }) => name),
      rounds,
      seconds,
      warmUp: preset.warmUp,
      json: values.json,
      quick: values.quick,
    },
  };
}

function misuse(reason: string): Parsed {
  return { kind: 'misuse', reason };
}

/** The help text. */
export function usage(known: readonly ExperimentName[]): string {
  const width = Math.max(...known.map(({ name }) => name.length));
  const lines = known.map(
    ({ name, summary, long }) => `  ${name.padEnd(width)}  ${summary}${long ? ' (only with --long)' : ''}`,
  );
  return `Usage: node bench/main.ts [experiment ...] [options]

Measures the adapter and the scraper against floors and their own state types in one interleaved run, as ratios; and
the operator with thousands of resources.

Experiments (all of them when none is named):
${lines.join('\n')}

Options:
  --rounds N    samples of every case and target (default ${full.rounds})
  --seconds N   measured seconds of a sample (default ${full.seconds})
  --quick       ${quick.rounds} rounds of ${quick.seconds} s: shows what works, not what is fast
  --json FILE   where the raw samples go (default bench/results/latest.json)
  --long        also the experiments that take long
  -h, --help    this text

Exit code: 0 when everything asked for was measured or could not exist here, 1 when something broke
(a target failed to start, ended, or gave a wrong answer), 2 on misuse, 130 when interrupted.
`;
}
