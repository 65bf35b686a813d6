/**
 * What a call costs whose client and server speak different protocol revisions, against calls that pass as they are: p50 of one
 * client after the other, in milliseconds, and calls per second of 16 at once.
 * Usage: npm run build && node bench/bridged.ts (Linux)
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pool } from 'undici';
import { stringify } from 'yaml';
import { callInSession, callWithoutSession, post, untilUp } from './harness/bare-client.ts';
import { startBareServer } from './harness/bare-server.ts';

const CALLS = 300;
const AT_ONCE = 16;
const ROUNDS = 7;
const PORT = 8969;
const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN;

let asked = 0;
const count = (): void => void (asked += 1);

const folder = mkdtempSync(join(tmpdir(), 'bench-bridged-'));
const older = await startBareServer('older', count);
const newer = await startBareServer('newer', count);
const config = join(folder, 'adapter.yaml');
const server = (id: string, url: string, sessions = 'per_call') => ({
  id,
  mount_path: `/mcp/${id}`,
  upstream: { url, bridge_sessions: sessions },
  upstream_ping: { enabled: false },
});
writeFileSync(
  config,
  stringify({
    core: { host: '127.0.0.1', port: PORT, max_start_wait_seconds: 0, log_level: 'warning' },
    storage: { root: join(folder, 'shared') },
    state_persistence: { type: 'memory' },
    servers: [server('older', older), server('kept', older, 'shared'), server('newer', newer)],
  }),
);
const adapter = spawn(process.execPath, ['dist/adapter/main.js', '--config', config], { stdio: 'inherit' });
const pool = new Pool(`http://127.0.0.1:${PORT}`, { connections: AT_ONCE });

type Call = () => Promise<unknown>;

async function inSession(path: string): Promise<Call> {
  const call = await callInSession(pool, path, 'echo');
  return () => post(pool, path, call);
}

function withoutSession(path: string): Call {
  const call = callWithoutSession('echo');
  return () => post(pool, path, call);
}

async function p50(call: Call): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < CALLS; i++) {
    const startedAt = performance.now();
    await call();
    times.push(performance.now() - startedAt);
  }
  return median(times);
}

async function rate(call: Call): Promise<number> {
  const startedAt = performance.now();
  const worker = async (): Promise<void> => {
    for (let i = 0; i < CALLS / 4; i++) await call();
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return (AT_ONCE * CALLS) / 4 / ((performance.now() - startedAt) / 1000);
}

try {
  await untilUp(pool);
  const calls: Record<string, Call> = {
    'with sessions, as it is': await inSession('/mcp/older'),
    'with sessions, bridged': await inSession('/mcp/newer'),
    'without, as it is': withoutSession('/mcp/newer'),
    'without, bridged, per_call': withoutSession('/mcp/older'),
    'without, bridged, kept': withoutSession('/mcp/kept'),
  };
  for (const call of Object.values(calls)) await rate(call);
  const times = new Map<string, number[]>();
  const rates = new Map<string, number[]>();
  const requests = new Map<string, number>();
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, call] of Object.entries(calls)) {
      const before = asked;
      times.set(name, [...(times.get(name) ?? []), await p50(call)]);
      requests.set(name, (asked - before) / CALLS);
      rates.set(name, [...(rates.get(name) ?? []), await rate(call)]);
    }
  }
  for (const name of Object.keys(calls)) {
    const perSecond = median(rates.get(name) ?? []);
    const one = median(times.get(name) ?? []);
    const upstream = (requests.get(name) ?? NaN).toFixed(2);
    console.log(
      `${name.padEnd(28)} p50 ${one.toFixed(3)} ms  ${perSecond.toFixed(0).padStart(6)} calls/s  ${upstream} requests`,
    );
  }
} finally {
  adapter.kill();
  await pool.destroy();
  rmSync(folder, { recursive: true, force: true });
}
process.exit(0);
