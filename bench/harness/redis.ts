import { freePort, untilListening, type Bench } from './bench.ts';
import type { Child } from './processes.ts';

/** A Redis that keeps nothing on disk, on the load's core. */
export async function startRedis(bench: Bench, folder: string): Promise<{ port: number; child: Child }> {
  const port = await freePort();
  const settings = ['--bind', '127.0.0.1', '--port', String(port), '--save', '', '--appendonly', 'no', '--dir', folder];
  const child = bench.processes.start('redis', ['redis-server', ...settings], { core: bench.cores.load });
  try {
    await untilListening(port, child, bench.signal);
  } catch (error) {
    await child.stop();
    throw error;
  }
  return { port, child };
}
