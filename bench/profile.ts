/**
 * Shows where the adapter's CPU time goes: `node bench/profile.ts [target] [options]`. The target runs pinned under load
 * with `--cpu-prof`; only the samples of the measured seconds count.
 */
import { copyFileSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Mount } from './floors/mounts.ts';
import type { Bench } from './harness/bench.ts';
import { generateLoad, startUpstream } from './harness/loadgen.ts';
import type { Load } from './harness/loadgen.ts';
import { observedAdapter } from './harness/observed.ts';
import { runBench } from './harness/run.ts';
import { adapter, floor } from './harness/targets.ts';
import type { Target } from './harness/targets.ts';
import { CpuProfile, partTimes, selfTimes } from './profile/self-time.ts';
import { markdownTable } from './report.ts';

const targets: readonly Target[] = [
  adapter({ name: 'adapter-memory', state: 'memory' }),
  adapter({ name: 'adapter-disk', state: 'disk' }),
  adapter({ name: 'adapter-redis', state: 'redis' }),
  observedAdapter('adapter-metrics', { metrics: true }),
  observedAdapter('adapter-logs', { metrics: true, logs: true }),
  observedAdapter('adapter-traces', { metrics: true, logs: true, traces: true }),
  floor('fastify-dispatch'),
  floor('node-dispatch'),
];

const loads: Readonly<Record<string, { scenario: Load['scenario']; mount: Mount }>> = {
  echo: { scenario: 'echo', mount: 'main' },
  events: { scenario: 'echo', mount: 'events' },
  large: { scenario: 'large', mount: 'main' },
  list: { scenario: 'list', mount: 'catalog' },
  session: { scenario: 'session', mount: 'main' },
  write: { scenario: 'write', mount: 'main' },
};

const usage = `Usage: node bench/profile.ts [target] [options]

Targets: ${targets.map(({ name }) => name).join(', ')} (default ${targets[0]?.name})

Options:
  --load NAME      ${Object.keys(loads).join(', ')} (default echo)
  --connections N  (default 16)
  --seconds N      measured seconds (default 8)
  --top N          functions to show (default 40)
  --keep FILE      keep the .cpuprofile, to open it in DevTools
  -h, --help       this text
`;

interface Choice {
  readonly target: Target;
  readonly load: { readonly scenario: Load['scenario']; readonly mount: Mount };
  readonly connections: number;
  readonly seconds: number;
  readonly top: number;
  readonly keep: string | undefined;
}

/** @throws on misuse */
function choose(argv: readonly string[]): Choice | 'help' {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      load: { type: 'string', default: 'echo' },
      connections: { type: 'string', default: '16' },
      seconds: { type: 'string', default: '8' },
      top: { type: 'string', default: '40' },
      keep: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return 'help';
  const target = targets.find(({ name }) => name === (positionals[0] ?? targets[0]?.name));
  if (target === undefined || positionals.length > 1) throw new Error(`unknown target ${positionals.join(' ')}`);
  const load = loads[values.load];
  if (load === undefined) throw new Error(`unknown load ${values.load}`);
  const number = (name: 'connections' | 'seconds' | 'top', most: number): number => {
    const value = Number(values[name]);
    if (!Number.isInteger(value) || value < 1 || value > most) throw new Error(`--${name} takes 1 to ${most}`);
    return value;
  };
  return {
    target,
    load,
    connections: number('connections', 1000),
    seconds: number('seconds', 600),
    top: number('top', 1000),
    keep: values.keep,
  };
}

async function profile(bench: Bench, choice: Choice): Promise<number> {
  const { target, load, connections, seconds, top, keep } = choice;
  const reason = target.absent(bench);
  if (reason !== undefined) throw new Error(`${target.name}: ${reason}`);
  const upstream = await startUpstream(bench, bench.cores.load);
  const flags = ['--cpu-prof', '--cpu-prof-interval=500', `--cpu-prof-dir=${bench.folder}`];
  const running = await target.start(bench, upstream, flags);
  bench.progress(`${target.name}: profiling ${seconds} s at ${connections} connections`);
  const urls = running.urls(load.mount);
  const watch = [...running.pids];
  const result = await generateLoad(bench, { urls, scenario: load.scenario, connections, seconds, warmUp: 3, watch });
  await running.stop(); // the profile is written on the way out
  if (result.errors > 0) throw new Error(`${result.errors} wrong answers, the first: ${result.firstError}`);

  const files = readdirSync(bench.folder).filter((name) => name.endsWith('.cpuprofile'));
  const [file] = files.map((name) => join(bench.folder, name)).sort((a, b) => statSync(b).size - statSync(a).size); // worker threads write small ones of their own
  if (file === undefined) throw new Error('no profile was written: the target did not end by itself on SIGTERM');
  if (keep !== undefined) copyFileSync(file, resolve(keep));

  const span = { fromMs: result.from - running.startedAt, toMs: result.to - running.startedAt };
  const times = selfTimes(CpuProfile.parse(JSON.parse(readFileSync(file, 'utf8'))), span, bench.root);
  const total = times.reduce((sum, { ms }) => sum + ms, 0);
  const share = (ms: number): string => `${((100 * ms) / total).toFixed(1)} %`;
  const perCall = (ms: number): string => ((1000 * ms) / result.calls).toFixed(2);
  const head = ['µs per call', 'share'];
  console.log(`\n${target.name}: ${result.perSecond.toFixed(0)} calls/s with the profiler on\n`);
  console.log(
    markdownTable(
      ['part', ...head],
      partTimes(times).map(({ part, ms }) => [part, perCall(ms), share(ms)]),
    ),
  );
  const rows = times.slice(0, top).map(({ name, place, ms }) => [name, perCall(ms), share(ms), place]);
  console.log(`\n${markdownTable(['function', ...head, 'place'], rows)}`);
  return 0;
}

try {
  const choice = choose(process.argv.slice(2));
  if (choice === 'help') console.log(usage);
  else process.exitCode = await runBench({ build: false, work: (bench) => profile(bench, choice) });
} catch (error) {
  console.error(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
  process.exitCode = 2;
}
