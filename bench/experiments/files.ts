import { mkdir, mkdtemp, readdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { forgetPeak, residentKib } from '../harness/proc.ts';
import { adapter, floor } from '../harness/targets.ts';
import type { RunningTarget, Target } from '../harness/targets.ts';
import { adapterServer, artifactId, ARTIFACTS_SESSION, content, plainServer } from './file-transfer.ts';
import type { FileServer } from './file-transfer.ts';
import { inTurn, withTarget, withUpstream } from './experiment.ts';
import type { Experiment, Recorder, Trial } from './experiment.ts';
import { takeSample } from './load.ts';
import type { LoadCase } from './load.ts';
import { settledKib } from './settle.ts';

const MIB = 1 << 20;
const SIZES = [
  { name: '1 MiB', bytes: MIB },
  { name: '10 MiB', bytes: 10 * MIB },
  { name: '1 GiB', bytes: 1024 * MIB },
];
const AT_ONCE = { count: 16, bytes: 64 * MIB };
const ORPHANS = { sessions: 100, files: 1_000 };
const SWEEP_SECONDS = 15;

const uploads = { max_file_bytes: '2Gi', ttl_seconds: null };
const plain = floor('file-stream');
const stored = adapter({
  name: 'adapter-memory',
  state: 'memory',
  extra: {
    core: { allow_artifacts_download: true },
    uploads,
    artifacts: { ttl_seconds: null },
    // The prepared artifacts become those of a session.
    state_persistence: { type: 'memory', reconciliation: { mode: 'always', legacy_server_id: 'main' } },
  },
  prepare: addArtifacts,
});
/** As `write_file` of the other, but its result passes as it is. */
const uncaptured = adapter({ name: 'adapter-uncaptured', state: 'memory', extra: { artifacts: { enabled: false } } });
const captured = adapter({ name: 'adapter-captured', state: 'memory' });
const sweeping = adapter({
  name: 'adapter-sweeping',
  state: 'memory',
  extra: {
    core: { cleanup_interval_seconds: 2 },
    storage: { orphan_sweeper_grace_seconds: 0 },
    state_persistence: { type: 'memory', reconciliation: { mode: 'disabled' } },
  },
  prepare: addOrphans,
});
const resting = adapter({ name: 'adapter-resting', state: 'memory', extra: { core: { cleanup_interval_seconds: 2 } } });

const hex = (number: number): string => number.toString(16).padStart(32, '0');

async function addArtifacts(storage: string): Promise<void> {
  for (const { bytes } of SIZES) {
    const folder = join(storage, 'artifacts/sessions', ARTIFACTS_SESSION, artifactId(bytes));
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'bench.bin'), content(bytes));
  }
}

/** Where the last ones were put. */
let orphans = '';

async function addOrphans(storage: string): Promise<void> {
  orphans = join(storage, 'uploads/sessions');
  for (let session = 0; session < ORPHANS.sessions; session++) {
    const folder = join(orphans, hex(session));
    const all = Array.from({ length: ORPHANS.files }, async (_, file) => {
      const item = join(folder, hex(file));
      await mkdir(item, { recursive: true });
      await writeFile(join(item, 'file.txt'), 'x');
      await utimes(item, 1, 1);
    });
    await Promise.all(all);
  }
}

async function orphansLeft(): Promise<number> {
  const folders = await readdir(orphans);
  const files = await Promise.all(folders.map((folder) => readdir(join(orphans, folder)).catch(() => [])));
  return files.flat().length;
}

/** One file after the other, for as long as a sample takes, and at least one. */
async function transferred(seconds: number, bytes: number, once: () => Promise<void>): Promise<number> {
  const start = performance.now();
  let count = 0;
  let elapsed = 0;
  do {
    await once();
    count++;
    elapsed = (performance.now() - start) / 1000;
  } while (elapsed < seconds);
  return (count * bytes) / 1e6 / elapsed;
}

async function measureTransfers(bench: Trial, record: Recorder, servers: readonly FileServer[]): Promise<void> {
  for (let round = 0; round < bench.options.rounds; round++) {
    for (const { name, bytes } of SIZES) {
      for (const server of inTurn(servers, round)) {
        const add = (what: string, mbPerSecond: number): void => {
          bench.progress(
            `${round + 1}/${bench.options.rounds}  ${what} ${name.padEnd(6)} ${server.name.padEnd(16)} ${mbPerSecond.toFixed(0)} MB/s`,
          );
          record.sample({ case: `${what} ${name}`, target: server.name, round, values: { mbPerSecond } });
        };
        await server.upload(bytes);
        add('upload', await transferred(bench.options.seconds, bytes, () => server.upload(bytes)));
        await server.download(bytes);
        add('download', await transferred(bench.options.seconds, bytes, () => server.download(bytes)));
        await server.forget();
      }
    }
  }
}

async function measureMemory(bench: Trial, record: Recorder, target: RunningTarget): Promise<void> {
  const server = await adapterServer(target, bench);
  const all = (count: number): Promise<void[]> =>
    Promise.all(Array.from({ length: count }, () => server.upload(AT_ONCE.bytes)));
  await all(2);
  await server.forget();
  const before = await settledKib(bench, target.pids);
  forgetPeak(target.pids);
  await all(AT_ONCE.count);
  const peakGrowthMb = ((residentKib(target.pids).peak - before) * 1024) / 1e6;
  bench.progress(`${target.name}  ${AT_ONCE.count} uploads at once: grew by ${peakGrowthMb.toFixed(1)} MB at most`);
  record.sample({ case: 'uploads at once', target: target.name, round: 0, values: { peakGrowthMb } });
}

const WRITE: LoadCase = { name: 'write 100 KB', mount: 'main', scenario: 'write', connections: 1 };
const CLEANUP: LoadCase = { name: 'echo during cleanup', mount: 'main', scenario: 'echo', connections: 1 };

/** The same load on two targets in turn. `check` fails where a target has not done what it is measured for. */
async function inPairs(
  bench: Trial,
  record: Recorder,
  pair: readonly Target[],
  one: LoadCase,
  check?: (target: Target) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(bench.folder, 'written-'));
  await withUpstream(bench, async (upstream) => {
    for (let round = 0; round < bench.options.rounds; round++) {
      for (const target of inTurn(pair, round)) {
        await withTarget(bench, record, upstream, target, async (running) => {
          record.sample(await takeSample(bench, upstream, running, { ...one, flags: ['-folder', folder] }, round));
          await check?.(target);
        });
      }
    }
  });
}

/** Every round begins with all the files again. */
async function measureCleanup(bench: Trial, record: Recorder): Promise<void> {
  const options = { ...bench.options, seconds: SWEEP_SECONDS, warmUp: 0, rounds: Math.min(3, bench.options.rounds) };
  await inPairs({ ...bench, options }, record, [resting, sweeping], CLEANUP, async (target) => {
    if (target === sweeping && (await orphansLeft()) === ORPHANS.sessions * ORPHANS.files) {
      throw new Error(`${target.name}: nothing was cleaned up meanwhile`);
    }
  });
}

/** Files in and out, against the least that they take; what a capture and a cleanup add to calls. */
export const files: Experiment = {
  name: 'files',
  summary: 'uploads, downloads, captured files, and a cleanup of 100,000 files',
  targets: [plain, stored, uncaptured, captured, resting, sweeping],
  goals: [
    ...['upload', 'download'].flatMap((what) =>
      SIZES.map(({ name }) => ({
        case: `${what} ${name}`,
        target: stored.name,
        metric: 'mbPerSecond' as const,
        to: { target: plain.name, how: 'ratio' as const },
        bound: { atLeast: 0.8 },
      })),
    ),
    { case: 'uploads at once', target: stored.name, metric: 'peakGrowthMb', bound: { atMost: 64 } },
    {
      case: WRITE.name,
      target: captured.name,
      metric: 'p50',
      to: { target: uncaptured.name, how: 'difference' },
      bound: { atMost: 1.5 },
    },
    {
      case: CLEANUP.name,
      target: sweeping.name,
      metric: 'p99',
      to: { target: resting.name, how: 'difference' },
      bound: { atMost: 20 },
    },
  ],
  async run(bench, record) {
    await withUpstream(bench, async (upstream) => {
      await withTarget(bench, record, upstream, plain, (floorTarget) =>
        withTarget(bench, record, upstream, stored, async (target) => {
          await measureTransfers(bench, record, [plainServer(floorTarget, bench), await adapterServer(target, bench)]);
          await measureMemory(bench, record, target);
        }),
      );
    });
    await inPairs(bench, record, [uncaptured, captured], WRITE);
    await measureCleanup(bench, record);
  },
};
