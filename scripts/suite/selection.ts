import { parseArgs } from 'node:util';
import { type Suite, SUITES } from './result.ts';

export const USAGE = `Usage: npm test [-- SUITE ...]

Runs the suites that are named, or all of them:
  check     format, lint, types, unused code, generated files
  unit      decisions, without the outside world
  contract  every implementation of an interface, against real Redis, SQLite and a Kubernetes API server
  e2e       whole programs, as their users meet them
  cluster   the operator, its chart and Argo CD on a real Kubernetes; needs root on Linux

What is missing for them (Redis, Chromium, runc, …) is installed when this is root or has sudo on Debian. Kubernetes is
compiled from its Go modules when it is first needed, which takes a quarter of an hour.
The last line is "N passed, N failed, N skipped"; the exit code is 1 when anything failed, 2 on wrong usage.
`;

export type Selection =
  | { readonly kind: 'run'; readonly suites: readonly Suite[] }
  | { readonly kind: 'help' }
  | { readonly kind: 'misuse'; readonly reason: string };

/** Reads the command line of `npm test`. */
export function readSelection(argv: readonly string[]): Selection {
  let parsed;
  try {
    parsed = parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: { help: { type: 'boolean', short: 'h', default: false } },
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
  const chosen = SUITES.filter((suite) => positionals.length === 0 || positionals.includes(suite));
  return { kind: 'run', suites: chosen };
}
