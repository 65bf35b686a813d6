/** `npm test`: prepares the machine, runs the suites, and ends with one line that counts them. */
import { runChecks } from './suite/checks.ts';
import { buildKubernetes, removeCluster } from './suite/kubernetes.ts';
import { QUIET } from '../e2e/cluster/quiet.ts';
import { prepareMachine } from './suite/machine.ts';
import { PROFILED } from './suite/profile/cpu-time.ts';
import { profileTable } from './suite/profile/profile-table.ts';
import { report } from './suite/report.ts';
import { type Suite, SUITES, type TestResult } from './suite/result.ts';
import { type FileResult, secondAttempt, withSecondAttempt } from './suite/second-attempt.ts';
import { startSearch } from './suite/secrets-in-output.ts';
import { readSelection, type Run, USAGE } from './suite/selection.ts';
import { runVitest } from './suite/vitest-run.ts';

const VITEST_TIMEOUT_MS = 75 * 60_000;
/** Shorter and successful files get no line of their own. */
const WORTH_A_LINE_SECONDS = 2;
const HEARTBEAT_MS = 30_000;

const started = performance.now();
let lastLine = started;

function progress(line: string): void {
  lastLine = performance.now();
  console.log(`${((lastLine - started) / 1000).toFixed(0).padStart(5)} s  ${line}`);
}

/** What a run of vitest came to: its files, and what failed outside of them. */
interface Ran {
  readonly files: readonly FileResult[];
  readonly outside: readonly TestResult[];
}
const NOTHING: Ran = { files: [], outside: [] };

/** @returns the exit code */
async function runSuites({ suites, profile }: Run, signal: AbortSignal): Promise<number> {
  if (profile) process.env[PROFILED] = '1';
  using search = startSearch();
  await prepareMachine(suites, signal, progress);
  await buildKubernetes(suites, signal, progress);
  progress(`running ${suites.join(', ')}`);
  const inOrder = suites.filter((suite) => suite !== 'check' && suite !== 'cluster');
  // They use all cores, and many tests watch the clock.
  const checks = suites.includes('check')
    ? await runChecks(signal, ({ name, state }) => progress(`check     ${name}: ${state}`))
    : [];
  const ran = await Promise.all([
    inOrder.length > 0 ? runTests(inOrder, signal) : NOTHING,
    // Pods are waited for most of the time, which leaves the machine to the others.
    suites.includes('cluster') ? runTests(['cluster'], signal) : NOTHING,
  ]);
  const first = ran.flatMap(({ files }) => files);
  const second: Ran[] = [];
  for (const { suite, files } of secondAttempt(first, QUIET)) {
    if (signal.aborted) break;
    progress(`again, alone: ${files.join(', ')}`);
    second.push(await runTests([suite], signal, files));
  }
  const outside = [...ran, ...second].flatMap((lane) => lane.outside);
  const again = second.flatMap(({ files }) => files);
  const secrets = signal.aborted ? undefined : search.result(suites);
  const results = [...checks, ...withSecondAttempt(first, again), ...outside, ...(secrets ? [secrets] : [])];
  if (profile) console.log(`\n${profileTable(first)}`);
  console.log(
    `\n${report(
      results,
      SUITES.filter((suite) => !suites.includes(suite)),
    )}`,
  );
  return results.some(({ state }) => state === 'failed') ? 1 : 0;
}

async function runTests(suites: readonly Suite[], signal: AbortSignal, only?: readonly string[]): Promise<Ran> {
  const files: FileResult[] = [];
  const running = new Map<string, number>();
  const heartbeat = setInterval(() => {
    if (performance.now() - lastLine < HEARTBEAT_MS || running.size === 0) return;
    progress(`still running ${[...running.keys()].join(', ')}`);
  }, 1000);
  try {
    const outside = await runVitest({
      suites,
      ...(only === undefined ? {} : { files: only }),
      timeoutMs: VITEST_TIMEOUT_MS,
      signal,
      onStart: (_suite, file) => running.set(file, performance.now()),
      onEnd: ({ suite, file, results, cpuSeconds }) => {
        const seconds = (performance.now() - (running.get(file) ?? performance.now())) / 1000;
        running.delete(file);
        files.push({ suite, file, results, seconds, cpuSeconds });
        const failed = results.filter(({ state }) => state === 'failed').length;
        if (failed === 0 && seconds < WORTH_A_LINE_SECONDS) return;
        const outcome = failed === 0 ? 'passed' : `${failed} of ${results.length} failed`;
        progress(`${suite.padEnd(8)}  ${file}: ${outcome} (${seconds.toFixed(1)} s)`);
      },
    });
    return { files, outside };
  } finally {
    clearInterval(heartbeat);
    await removeCluster(suites);
  }
}

const selection = readSelection(process.argv.slice(2), process.env);
if (selection.kind === 'help') {
  console.log(USAGE.trimEnd());
} else if (selection.kind === 'misuse') {
  console.error(`${selection.reason}\nTry 'npm test -- --help'.`);
  process.exitCode = 2;
} else {
  const interruption = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => {
      interruption.abort();
      process.exitCode = 130;
    });
  }
  try {
    const code = await runSuites(selection, interruption.signal);
    process.exitCode ??= code;
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
    process.exitCode = 1;
  }
}
