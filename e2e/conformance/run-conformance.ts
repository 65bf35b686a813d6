import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { startProcess } from '../support/processes.ts';

/** The frozen requirement sets of the suite; each runs at the wire of its own revision. */
export type Requirements = '2025-11-25' | '2026-07-28';

export interface Check {
  readonly scenario: string;
  /** `<check id>/<check name>`: the suite uses one id for several checks of a scenario. */
  readonly check: string;
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';
  /** False for what the revision runs but does not require, such as extensions. */
  readonly scored: boolean;
  readonly message: string | undefined;
}

export interface ConformanceScore {
  /** 0 when every scored check passed. */
  readonly exitCode: number | null;
  readonly checks: readonly Check[];
  /** How many checks are SUCCESS and FAILURE, scored or not: the suite's own total. */
  readonly passed: number;
  readonly failed: number;
  /** What the suite printed. */
  readonly output: string;
}

export interface ConformanceOptions {
  readonly url: string;
  readonly requirements: Requirements;
  /** For the whole run. Default: 90 s. */
  readonly timeoutMs?: number;
}

const SCENARIO_TIMEOUT_MS = 15_000;

const results = z.array(
  z.object({
    id: z.string(),
    name: z.string(),
    status: z.enum(['SUCCESS', 'FAILURE', 'WARNING', 'SKIPPED', 'INFO']),
    errorMessage: z.string().optional(),
  }),
);

const requirementSet = z.object({ not_scored: z.array(z.object({ scenario: z.string(), leg: z.string() })) });

/** Runs the official suite (`conformance server`) against `url`. Rejects when it does not end in time. */
export async function runConformance(options: ConformanceOptions): Promise<ConformanceScore> {
  const { url, requirements, timeoutMs = 90_000 } = options;
  const packageFolder = dirname(
    createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json'),
  );
  const folder = await mkdtemp(join(tmpdir(), 'conformance-'));
  try {
    const args = ['server', '--url', url, '--requirements', requirements, '--output-dir', folder];
    const program = join(packageFolder, 'dist', 'index.js');
    const suite = startProcess(process.execPath, [program, ...args, '--timeout', String(SCENARIO_TIMEOUT_MS)]);
    const exit = await suite.exitsWithin(timeoutMs);
    if (exit === undefined) {
      suite.kill();
      await suite.exited;
      throw new Error(`conformance ${requirements} did not end within ${timeoutMs} ms:\n${suite.stdout()}`);
    }
    const notScored = await readNotScored(join(packageFolder, 'requirements', `${requirements}.yaml`));
    const checks = await readChecks(folder, notScored);
    const count = (status: Check['status']): number => checks.filter((check) => check.status === status).length;
    const output = suite.stdout() + suite.stderr();
    return { exitCode: exit.code, checks, passed: count('SUCCESS'), failed: count('FAILURE'), output };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function readNotScored(file: string): Promise<Set<string>> {
  const { not_scored } = requirementSet.parse(parse(await readFile(file, 'utf8')));
  return new Set(not_scored.filter(({ leg }) => leg === 'server').map(({ scenario }) => scenario));
}

/** The suite writes `server-<scenario>-<time>/checks.json`, one folder per scenario. */
async function readChecks(folder: string, notScored: ReadonlySet<string>): Promise<Check[]> {
  const checks: Check[] = [];
  for (const name of (await readdir(folder)).sort()) {
    const scenario = /^server-(?<scenario>.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(name)?.groups?.scenario;
    if (scenario === undefined) throw new Error(`unexpected result folder ${name}`);
    for (const result of results.parse(JSON.parse(await readFile(join(folder, name, 'checks.json'), 'utf8')))) {
      const { id, status, errorMessage: message } = result;
      checks.push({ scenario, check: `${id}/${result.name}`, status, scored: !notScored.has(scenario), message });
    }
  }
  return checks;
}

/** The checks that failed, one readable line each. */
export function failures(score: ConformanceScore, only: 'scored' | 'all' = 'scored'): string[] {
  return score.checks
    .filter((check) => check.status === 'FAILURE' && (only === 'all' || check.scored))
    .map((check) => `${check.scenario} ${check.check}: ${check.message ?? 'failed'}`);
}

/**
 * What a gateway in between broke: checks that passed `direct` and do not pass `through`, and failures that are new.
 * A check that occurs several times passes when all of its occurrences do.
 */
export function regressions(direct: ConformanceScore, through: ConformanceScore): string[] {
  const before = verdicts(direct);
  const after = verdicts(through);
  const lost = [...before].filter(([key, verdict]) => verdict === 'SUCCESS' && after.get(key) !== 'SUCCESS');
  const broken = [...after].filter(([key, verdict]) => verdict === 'FAILURE' && !before.has(key));
  return [...lost, ...broken].map(([key]) => `${key}: ${before.get(key) ?? 'absent'} → ${after.get(key) ?? 'absent'}`);
}

function verdicts(score: ConformanceScore): Map<string, Check['status']> {
  const worst = ['INFO', 'SKIPPED', 'SUCCESS', 'WARNING', 'FAILURE'];
  const all = new Map<string, Check['status']>();
  for (const { scenario, check, status } of score.checks) {
    const key = `${scenario} ${check}`;
    const known = all.get(key) ?? 'INFO';
    all.set(key, worst.indexOf(status) > worst.indexOf(known) ? status : known);
  }
  return all;
}
