import { once } from 'node:events';
import { get } from 'node:http';
import { connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cores } from './proc.ts';
import type { Child, Processes } from './processes.ts';

/** What every part of a run works with. */
export interface Bench {
  readonly cores: Cores;
  readonly processes: Processes;
  /** For storage, configuration and logs; removed at the end. */
  readonly folder: string;
  /** Aborted when the user interrupts the run; every wait ends with it. */
  readonly signal: AbortSignal;
  /** The project's folder. */
  readonly root: string;
  /** Why the built program cannot be measured, or undefined when it can. */
  readonly builtAbsent: string | undefined;
  progress(line: string): void;
}

/** A port that was free a moment ago, for programs that take theirs from a configuration file. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port to listen on');
  server.close();
  await once(server, 'close');
  return address.port;
}

/**
 * Asks a URL every few milliseconds until it answers 200.
 * @throws when the process ends first, after `limitMs`, or when the run is interrupted
 */
export async function untilHealthy(url: string, child: Child, signal: AbortSignal, limitMs = 30_000): Promise<void> {
  let status = 0;
  const healthy = async (): Promise<boolean> => (status = await statusOf(url)) === 200;
  if (!(await retry(healthy, child, signal, limitMs))) {
    throw new Error(`${child.name}: no 200 from ${url} within ${limitMs} ms (last status: ${status})`);
  }
}

/** The same for a server that does not speak HTTP: until it accepts connections. */
export async function untilListening(port: number, child: Child, signal: AbortSignal, limitMs = 10_000): Promise<void> {
  if (!(await retry(() => accepts(port), child, signal, limitMs))) {
    throw new Error(`${child.name}: does not listen on ${port} after ${limitMs} ms`);
  }
}

async function retry(
  attempt: () => Promise<boolean>,
  child: Child,
  signal: AbortSignal,
  limitMs: number,
): Promise<boolean> {
  const deadline = performance.now() + limitMs;
  for (;;) {
    signal.throwIfAborted();
    if (child.ended) throw new Error(child.fate);
    if (await attempt()) return true;
    if (performance.now() > deadline) return false;
    await sleep(3, undefined, { signal });
  }
}

/** The status of a GET, or 0 when there was no answer within two seconds. */
function statusOf(url: string): Promise<number> {
  return new Promise((resolve) => {
    const request = get(url, { agent: false, timeout: 2000 }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    request.on('timeout', () => request.destroy(new Error('timeout')));
    request.on('error', () => resolve(0));
  });
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', timeout: 2000 }, () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('timeout', () => socket.destroy(new Error('timeout')));
    socket.on('error', () => resolve(false));
  });
}
