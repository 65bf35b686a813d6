/** `npm run bench`: measures the adapter, the operator and the scraper. See README.md. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { catalog, echo, events, large, replicas, sessions, state } from './experiments/calls.ts';
import { Recorder } from './experiments/experiment.ts';
import type { Experiment, Trial } from './experiments/experiment.ts';
import { files } from './experiments/files.ts';
import { endurance, huge, idle } from './experiments/memory.ts';
import { operator } from './experiments/operator.ts';
import { scraper } from './experiments/scraper.ts';
import { startup } from './experiments/startup.ts';
import { telemetry } from './experiments/telemetry.ts';
import { tools } from './experiments/tools.ts';
import type { Measurable } from './harness/targets.ts';
import { judge } from './goals.ts';
import { describeMachine, runBench } from './harness/run.ts';
import { parseOptions, usage } from './options.ts';
import { report } from './report.ts';
import type { Outcome } from './report.ts';

const experiments: readonly Experiment<Measurable>[] = [
  echo,
  state,
  telemetry,
  sessions,
  catalog,
  tools,
  large,
  events,
  replicas,
  idle,
  huge,
  files,
  startup,
  endurance,
  operator,
  scraper,
];

async function measure(bench: Trial, experiment: Experiment<Measurable>): Promise<Outcome> {
  const absent = new Map<string, string>();
  const present = experiment.targets.filter((target) => {
    const reason = target.absent(bench);
    if (reason !== undefined) absent.set(target.name, reason);
    return reason === undefined;
  });
  const record = new Recorder();
  try {
    await experiment.run(bench, record, present);
  } catch (error) {
    bench.signal.throwIfAborted();
    record.failure(experiment.name, error);
  }
  return {
    experiment: experiment.name,
    samples: record.samples,
    judgements: experiment.goals.map((goal) => judge(goal, record.samples)),
    absent,
    failures: record.failures,
  };
}

async function measureAll(bench: Trial, chosen: readonly Experiment<Measurable>[]): Promise<number> {
  const outcomes: Outcome[] = [];
  const file = resolve(bench.options.json ?? join(bench.root, 'bench/results/latest.json'));
  for (const experiment of chosen) {
    bench.progress(`${experiment.name}: ${experiment.summary}`);
    outcomes.push(await measure(bench, experiment));
    // Written after each experiment, so that an interrupted run keeps what it has.
    mkdirSync(dirname(file), { recursive: true });
    const machine = describeMachine();
    const results = { machine, cores: bench.cores, options: bench.options, outcomes: outcomes.map(plain) };
    writeFileSync(file, `${JSON.stringify(results, null, 1)}\n`);
  }
  console.log(`\n${report(outcomes)}\n\nRaw samples: ${file}`);
  return outcomes.some(({ failures }) => failures.length > 0) ? 1 : 0;
}

/** An outcome as JSON can hold it. */
function plain(outcome: Outcome): unknown {
  return { ...outcome, absent: Object.fromEntries(outcome.absent) };
}

const parsed = parseOptions(process.argv.slice(2), experiments);
if (parsed.kind === 'help') {
  console.log(usage(experiments));
} else if (parsed.kind === 'misuse') {
  console.error(`${parsed.reason}\n\n${usage(experiments)}`);
  process.exitCode = 2;
} else {
  const { options } = parsed;
  const chosen = experiments.filter(({ name }) => options.experiments.includes(name));
  process.exitCode = await runBench({
    build: chosen.some(({ targets }) => targets.some(({ built }) => built)),
    work: (bench) => measureAll({ ...bench, options }, chosen),
  });
}
