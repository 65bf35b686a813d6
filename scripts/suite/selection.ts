import { parseArgs } from 'node:util';
import { SHORT_SUITES, type Suite, SUITES } from './result.ts';

export const USAGE = `Usage: npm test [-- [--all] [--profile] [SUITE ...]]

Runs the suites that are named. Without a name: the first four, or all with --all (npm run test:all) or where CI is set.
  check     format, lint, types, unused code, generated files
  unit      decisions, without the outside world
  contract  every implementation of an interface, against real Redis and SQLite
  e2e       whole programs, as their users meet them
  heavy     the contract and e2e tests that are long, or need a browser, other SDKs, or what is compiled with Go: a
            Kubernetes API server, an S3 server, a Collector, promtool
  cluster   the operator, its chart and Argo CD on a real Kubernetes; needs root on Linux

  --profile  also tells which files cost most, in seconds and in seconds of a processor

Missing programs (Redis, Chromium, runc, …) are installed when this is root or has sudo on Debian. What heavy and cluster
need is compiled with Go when it is first needed, which takes half an hour on two cores.
The last line is "N passed, N failed, N skipped"; the exit code is 1 when anything failed, 2 on wrong usage.

Shorter: npm run unit -- [--watch] [FILE ...], npm run test:changed, npm run check
`;

export interface Run {
  readonly suites: readonly Suite[];
  /** Whether to tell what each file costs. */
  readonly profile: boolean;
}

export type Selection =
  | ({ readonly kind: 'run' } & Run)
  | { readonly kind: 'help' }
  | { readonly kind: 'misuse'; readonly reason: string };

/** Reads the command line of `npm test`; a build server, which sets CI, leaves nothing out. */
export function readSelection(argv: readonly string[], env: NodeJS.ProcessEnv): Selection {
  let parsed;
  try {
    parsed = parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        help: { type: 'boolean', short: 'h', default: false },
        all: { type: 'boolean', default: false },
        profile: { type: 'boolean', default: false },
      },
    });
  } catch (error) {
    return { kind: 'misuse', reason: error instanceof Error ? error.message : String(error) };
  }
  const { values, positionals } = parsed;
  if (values.help) return { kind: 'help' };
  const names: readonly string[] = SUITES;
  const unknown = positionals.find((name) => !names.includes(name));
  if (unknown !== undefined) {
    return { kind: 'misuse', reason: `there is no suite "${unknown}"; there are ${SUITES.join(', ')}` };
  }
  if (values.all && positionals.length > 0) return { kind: 'misuse', reason: '--all leaves no suite to name' };
  const usual = values.all || isSet(env['CI']) ? SUITES : SHORT_SUITES;
  const suites = positionals.length === 0 ? usual : SUITES.filter((suite) => positionals.includes(suite));
  return { kind: 'run', suites, profile: values.profile };
}

const isSet = (value: string | undefined): boolean => value !== undefined && value !== '' && value !== 'false';
