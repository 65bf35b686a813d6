/**
 * Two built versions of the adapter, asked the same in turns of half a second: what a change costs, when that is less than a machine
 * differs from minute to minute. Prints the second one's calls per second, and processor time per call, as ratios to the first: the
 * median of all pairs of turns, and where it lies with 95 % confidence.
 * Usage: node bench/paired.ts BASE/dist/adapter/main.js dist/adapter/main.js [starts] (Linux; 5 starts)
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pool } from 'undici';
import { stringify } from 'yaml';
import { type Asked, callInSession, callWithoutSession, post, untilUp } from './harness/bare-client.ts';
import { startBareServer } from './harness/bare-server.ts';
import { processSeconds } from './harness/proc.ts';

const [, , base = '', head = '', starts = '5'] = process.argv;
const AT_ONCE = 16;
const TURN_MS = 500;
const TURNS = 24;
const WARM_MS = 3_000;
const PATH = '/mcp/up';

/** A version of the adapter that runs. */
class Version implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #pool: Pool;
  readonly #folder = mkdtempSync(join(tmpdir(), 'bench-paired-'));

  constructor(main: string, port: number, upstream: string) {
    const config = join(this.#folder, 'adapter.yaml');
    const server = { id: 'up', mount_path: PATH, upstream: { url: upstream }, upstream_ping: { enabled: false } };
    const core = { host: '127.0.0.1', port, max_start_wait_seconds: 0, log_level: 'error' };
    const storage = { root: join(this.#folder, 'shared') };
    writeFileSync(config, stringify({ core, storage, state_persistence: { type: 'memory' }, servers: [server] }));
    this.#child = spawn('taskset', ['-c', '1', process.execPath, main, '--config', config], { stdio: 'inherit' });
    this.#pool = new Pool(`http://127.0.0.1:${port}`, { connections: AT_ONCE });
  }

  call(asked: Asked): Promise<unknown> {
    return post(this.#pool, PATH, asked);
  }

  asking(open: Open, tool: string): Promise<Asked> {
    return open(this.#pool, PATH, tool);
  }

  ready(): Promise<void> {
    return untilUp(this.#pool);
  }

  /** Calls per second, and microseconds of its processor for each. */
  async turn(asked: Asked, ms: number): Promise<[rate: number, cpu: number]> {
    const stat = (): number => processSeconds(readFileSync(`/proc/${this.#child.pid}/stat`, 'utf8'));
    const [startedAt, usedBefore] = [performance.now(), stat()];
    let calls = 0;
    const worker = async (): Promise<void> => {
      for (; performance.now() - startedAt < ms; calls++) await this.call(asked);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    const seconds = (performance.now() - startedAt) / 1000;
    return [calls / seconds, ((stat() - usedBefore) / calls) * 1e6];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const gone = once(this.#child, 'exit');
    await this.#pool.destroy();
    this.#child.kill();
    await gone;
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

type Open = (pool: Pool, path: string, tool: string) => Promise<Asked>;

const withoutSession: Open = (_pool, _path, tool) => Promise.resolve(callWithoutSession(tool));

const KINDS = {
  'in a session': [callInSession, 'echo'],
  'the same, streamed': [callInSession, 'stream'],
  'without sessions': [withoutSession, 'echo'],
} as const;

/** The median of ratios, and its interval of 95 % by the ranks of a binomial distribution. */
function shown(ratios: readonly number[]): string {
  const sorted = ratios.toSorted((a, b) => a - b);
  const { length } = sorted;
  const off = Math.ceil(0.98 * Math.sqrt(length));
  const at = (index: number): string => (sorted[Math.max(0, Math.min(length - 1, index))] ?? NaN).toFixed(3);
  return `${at(length >> 1)} (${at((length >> 1) - off)} to ${at((length >> 1) + off)})`;
}

if (base === '' || head === '') {
  console.error('Usage: node bench/paired.ts BASE/dist/adapter/main.js HEAD/dist/adapter/main.js [starts]');
  process.exit(2);
}
const upstream = await startBareServer('both');
const rates = new Map<string, number[]>();
const cpus = new Map<string, number[]>();
for (let start = 0; start < Number(starts); start++) {
  // Who is first is first in memory too.
  const order = start % 2 === 0 ? [base, head] : [head, base];
  await using first = new Version(order[0] ?? '', 8971, upstream);
  await using second = new Version(order[1] ?? '', 8972, upstream);
  const [before, after] = start % 2 === 0 ? [first, second] : [second, first];
  await Promise.all([first.ready(), second.ready()]);
  for (const [name, [open, tool]] of Object.entries(KINDS)) {
    const [ofBefore, ofAfter] = [await before.asking(open, tool), await after.asking(open, tool)];
    await before.turn(ofBefore, WARM_MS);
    await after.turn(ofAfter, WARM_MS);
    const [cpuBefore, cpuAfter] = [[] as number[], [] as number[]];
    for (let turn = 0; turn < TURNS; turn++) {
      const took = async (isAfter: boolean): Promise<[number, number]> =>
        isAfter ? after.turn(ofAfter, TURN_MS) : before.turn(ofBefore, TURN_MS);
      const isSwapped = turn % 2 === 1;
      const one = await took(isSwapped);
      const other = await took(!isSwapped);
      const [[rateBefore, usedBefore], [rateAfter, usedAfter]] = isSwapped ? [other, one] : [one, other];
      rates.set(name, [...(rates.get(name) ?? []), rateAfter / rateBefore]);
      cpuBefore.push(usedBefore);
      cpuAfter.push(usedAfter);
    }
    const pairs = cpuAfter.map((used, index) => used / (cpuBefore[index] ?? NaN));
    cpus.set(name, [...(cpus.get(name) ?? []), ...pairs]);
  }
}
for (const name of rates.keys()) {
  console.log(`${name.padEnd(18)} rate ${shown(rates.get(name) ?? [])}  CPU ${shown(cpus.get(name) ?? [])}`);
}
process.exit(0);
