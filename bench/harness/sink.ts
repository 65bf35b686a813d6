import { join } from 'node:path';
import type { SinkCalls, SinkCount, SinkReport } from '../sink/report.ts';
import { freePort, untilListening, type Bench } from './bench.ts';

/** The API that a scraper reads and the collector that it sends to, in a process on the load's core. */
export interface Sink {
  readonly origin: string;
  readonly pid: number;
  report(): Promise<SinkReport>;
  count(): Promise<SinkCount>;
  calls(): Promise<SinkCalls>;
  hold(after: number): Promise<void>;
  release(): Promise<void>;
  /** Forgets what happened, and has a page of that many records ready. */
  reset(records: number): Promise<void>;
  stop(): Promise<void>;
}

export async function startSink(bench: Bench): Promise<Sink> {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const command = [process.execPath, join(bench.root, 'bench/sink/main.ts')];
  const env = { PORT: String(port) };
  const child = bench.processes.start('sink', command, { core: bench.cores.load, env });
  const ask = async (path: string): Promise<unknown> => {
    const signal = AbortSignal.any([bench.signal, AbortSignal.timeout(30_000)]);
    const response = await fetch(origin + path, { signal });
    if (!response.ok) throw new Error(`sink: ${response.status} ${await response.text()}`);
    return await response.json();
  };
  await untilListening(port, child, bench.signal);
  return {
    origin,
    pid: child.pid,
    report: () => ask('/report') as Promise<SinkReport>,
    count: () => ask('/count') as Promise<SinkCount>,
    calls: () => ask('/calls') as Promise<SinkCalls>,
    hold: async (after) => void (await ask(`/hold?after=${after}`)),
    release: async () => void (await ask('/release')),
    async reset(records) {
      await ask(`/page?n=${records}`);
      await ask('/reset');
    },
    stop: () => child.stop(),
  };
}
