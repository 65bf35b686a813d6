import { createServer, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { constants, setPriority } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { request } from 'undici';
import { collectGarbage, inspectorUrl } from '../../bench/harness/collect-garbage.ts';
import { residentKib } from '../../bench/harness/proc.ts';
import { heapOptions } from '../../operator/pods/heap.ts';
import { Workshop } from '../scraper/kit/workshop.ts';
import { startAdapter } from '../support/adapter-process.ts';
import { imageAllocator } from '../support/image-allocator.ts';
import { listen } from '../support/ports.ts';
import { type RunningProcess, startProcess } from '../support/processes.ts';
import { openRawClient, type RawClient } from '../support/raw-client.ts';
import type { AttackRun } from './attacks.ts';
import { HOSTILE_PAGES } from './hostile-api.ts';
import { Stopwatch, type Times } from './stopwatch.ts';

/** As the operator starts it in a container of 512 MiB; the inspector lets memory be looked at without garbage. */
const LIKE_512_MIB = { ...imageAllocator(), NODE_OPTIONS: `${heapOptions(512 << 20)} --inspect-port=0` };
const HOSTILE = fileURLToPath(new URL('hostile.ts', import.meta.url));
const CLIENTS = 4;
const BETWEEN_CALLS_MS = 50;
const SAMPLE_MS = 250;
const PATIENCE_MS = 60_000;
/** Longer than caches keep what nobody asks for (two minutes). */
const SETTLE_MS = 180_000;

const WARM_UP_MS = 5000;
/** Memory has settled at so much more than before. */
export const SETTLED = 1.25;
const MIB = 1 << 20;

type ProgramName = 'adapter' | 'scraper';

/** In MiB. */
interface Memory {
  /** Resident, the most while all was calm. */
  readonly before: number;
  readonly highest: number;
  /** Resident, so long after the last attack, with the good clients at work. */
  readonly after: number;
  /** Values and buffers in use before and after, without garbage. */
  readonly used: { readonly before: number; readonly after: number };
}
interface Program {
  /** Of an adapter, how long calls took; of a scraper, the time from one question to the next of the good API. */
  readonly calm: Times;
  readonly hostile: Times;
  /** How long `/livez` took beside the attacks. */
  readonly livez: Times;
  readonly memory: Memory;
}
export interface SoakReport {
  /** How long the same calls took that did not pass the adapter: what the machine, which all share, has to do with it. */
  readonly direct: Pick<Program, 'calm' | 'hostile'>;
  readonly adapter: Program;
  readonly scraper: Program;
  readonly attacks: readonly AttackRun[];
}

/**
 * One adapter and one scraper, each as in a container of 512 MiB: well-behaved clients and APIs alone first, then beside
 * hostile ones, and alone again.
 *
 * @throws when a program ends
 */
export async function soak(
  { calmMs, hostileMs, afterMs }: { readonly calmMs: number; readonly hostileMs: number; readonly afterMs: number },
  log: (line: string) => void,
): Promise<SoakReport> {
  await using hostile = startProcess(process.execPath, [HOSTILE], {});
  // Attackers have machines of their own: here they get what the programs leave, or these would wait for a core.
  setPriority(hostile.pid, constants.priority.PRIORITY_LOW);
  const [, evil = ''] = await hostile.waitForStdout(/hostile at (\S+)\//);
  await using good = await startGood();
  await using adapter = await startAdapter({
    env: LIKE_512_MIB,
    config: {
      core: { max_start_wait_seconds: 0, log_level: 'error' },
      state_persistence: { type: 'memory' },
      sessions: { max_active: 2000, idle_ttl_seconds: 20 },
      servers: [
        { id: 'good', mount_path: '/mcp/good', upstream: { url: `${good.url}/mcp` } },
        { id: 'evil', mount_path: '/mcp/evil', upstream: { url: `${evil}/mcp` } },
        { id: 'evil_code', mount_path: '/mcp/evil-code', upstream: { url: `${evil}/mcp` }, code_mode_enabled: true },
        { id: 'evil-sse', mount_path: '/mcp/evil-sse', upstream: { url: `${evil}/sse`, transport: 'sse' } },
      ],
    },
  });
  await using workshop = await Workshop.open();
  const source = (name: string, url: string): Record<string, unknown> => ({
    name,
    frequency: '1s',
    baseUrl: url,
    endpoint: `/${name}`,
    runFirstScrape: true,
    gaugeReadings: [{ name: 'soak', dataKey: 'n' }],
    counterReadings: [{ name: 'soak_count', dataKey: 'n' }],
    attributes: [{ name: 'label', dataKey: 'label' }],
    maxSeriesBytes: '4Mi',
    scrape: { type: 'instant', timeout: '5s', pagination: { type: 'nextLink' } },
  });
  const sources = [source('good', good.url), ...Object.keys(HOSTILE_PAGES).map((name) => source(name, evil))];
  const scraper = await workshop.start(await workshop.configure(sources, { logLevel: 'critical' }), LIKE_512_MIB);

  const programs = { adapter, scraper };
  using watching = watch(programs);
  await using clients = await goodClients(`${adapter.url}/mcp/good`, CLIENTS);
  await using directly = await goodClients(`${good.url}/mcp`, 1);
  const phase = async (name: string, ms: number): Promise<Phase> => {
    log(`${name}: ${ms / 1000} s`);
    await lasts(ms, programs);
    return { calls: clients.take(), direct: directly.take(), scrapes: good.take(), ...watching.take() };
  };
  await lasts(WARM_UP_MS, programs);
  clients.take();
  directly.take();
  good.take();
  const used = { adapter: await clean(adapter), scraper: await clean(scraper) };
  watching.take();
  const calm = await phase('calm', calmMs);
  const mounts = { mount: '/mcp/evil', sseMount: '/mcp/evil-sse' };
  const target = new URLSearchParams({ url: adapter.url, ...mounts, scraper: scraper.url });
  await fetch(`${evil}/begin?${target.toString()}`);
  const rough = await phase('hostile', hostileMs);
  const attacks = (await (await fetch(`${evil}/runs`)).json()) as AttackRun[];
  await hostile.stop();
  await phase('after', afterMs);
  const resident = { adapter: residentMib(adapter), scraper: residentMib(scraper) };
  const report = async (name: 'adapter' | 'scraper', what: 'calls' | 'scrapes'): Promise<Program> => {
    const before = calm.highest[name];
    const end = await settled(programs[name], used[name] * SETTLED);
    return {
      calm: calm[what],
      hostile: rough[what],
      livez: rough.livez[name],
      memory: {
        before,
        highest: rough.highest[name],
        after: resident[name],
        used: { before: used[name], after: end },
      },
    };
  };
  log('settling');
  return {
    direct: { calm: calm.direct, hostile: rough.direct },
    adapter: await report('adapter', 'calls'),
    scraper: await report('scraper', 'scrapes'),
    attacks,
  };
}

interface Phase {
  readonly calls: Times;
  readonly direct: Times;
  readonly scrapes: Times;
  readonly livez: Readonly<Record<ProgramName, Times>>;
  readonly highest: Readonly<Record<ProgramName, number>>;
}

/** Rejects when one of the programs ends meanwhile. */
async function lasts(ms: number, programs: Readonly<Record<string, RunningProcess>>): Promise<void> {
  const ended = Object.entries(programs).map(async ([name, program]) => {
    const exit = await program.exited;
    throw new Error(`the ${name} has ended (${JSON.stringify(exit)}): ${program.stderr().slice(-2000)}`);
  });
  const time = new AbortController();
  await Promise.race([delay(ms, undefined, { signal: time.signal }), ...ended]).finally(() => time.abort());
}

function residentMib({ pid }: RunningProcess): number {
  return residentKib([pid]).now / 1024;
}

/** The inspector opens with SIGUSR1, once. @returns MiB in use */
async function clean(program: RunningProcess): Promise<number> {
  if (inspectorUrl(program.stderr()) === undefined) program.kill('SIGUSR1');
  const limit = AbortSignal.timeout(PATIENCE_MS);
  while (inspectorUrl(program.stderr()) === undefined) await delay(50, undefined, { signal: limit });
  return (await collectGarbage(inspectorUrl(program.stderr()) ?? '', limit)) / MIB;
}

/** MiB in use, once they are no more than `enough`, or after `SETTLE_MS`. */
async function settled(program: RunningProcess, enough: number): Promise<number> {
  const deadline = performance.now() + SETTLE_MS;
  for (;;) {
    const used = await clean(program);
    if (used <= enough || performance.now() > deadline) return used;
    await delay(1000);
  }
}

/** Looks at memory, and how long `/livez` takes. */
function watch(programs: Readonly<Record<ProgramName, RunningProcess & { readonly url: string }>>): Disposable & {
  take(): Pick<Phase, 'livez' | 'highest'>;
} {
  const stop = new AbortController();
  const livez = { adapter: new Stopwatch(), scraper: new Stopwatch() };
  let highest = { adapter: 0, scraper: 0 };
  const look = async (name: ProgramName): Promise<void> => {
    while (!stop.signal.aborted) {
      await livez[name].time(async () => {
        // As the kubelet does: each on a connection of its own.
        const options = { reset: true, signal: AbortSignal.timeout(PATIENCE_MS) };
        const { statusCode, body } = await request(`${programs[name].url}/livez`, options);
        await body.dump();
        return statusCode === 200;
      });
      highest[name] = Math.max(highest[name], residentMib(programs[name]));
      await delay(SAMPLE_MS, undefined, { signal: stop.signal }).catch(() => undefined);
    }
  };
  void look('adapter');
  void look('scraper');
  return {
    take() {
      const taken = { livez: { adapter: livez.adapter.take(), scraper: livez.scraper.take() }, highest };
      highest = { adapter: 0, scraper: 0 };
      return taken;
    },
    [Symbol.dispose]: () => stop.abort(),
  };
}

/** Clients that call a tool of the good upstream again and again, each in a session of its own. */
async function goodClients(url: string, count: number): Promise<AsyncDisposable & { take(): Times }> {
  const stop = new AbortController();
  const calls = new Stopwatch();
  const one = async (client: RawClient): Promise<void> => {
    while (!stop.signal.aborted) {
      const said = crypto.randomUUID();
      await calls.time(async () => JSON.stringify(await client.callTool('echo', { text: said })).includes(said));
      await delay(BETWEEN_CALLS_MS);
    }
  };
  const clients = await Promise.all(Array.from({ length: count }, () => openRawClient(url)));
  const all = clients.map(one);
  return {
    take: () => calls.take(),
    async [Symbol.asyncDispose]() {
      stop.abort();
      await Promise.allSettled(all);
    },
  };
}

/** An upstream and an API that behave. */
async function startGood(): Promise<AsyncDisposable & { readonly url: string; take(): Times }> {
  const questions = new Stopwatch();
  let answeredAt: number | undefined;
  const server = createServer((request, reply) => {
    if (request.url === '/mcp') {
      text(request)
        .then((body) => answerGood(body, request.method, reply))
        .catch(() => reply.destroy());
      return;
    }
    if (answeredAt !== undefined) questions.add(performance.now() - answeredAt);
    answeredAt = performance.now();
    reply.writeHead(200, { 'content-type': 'application/json' }).end('[{"n":1}]');
  });
  const url = `http://127.0.0.1:${await listen(server)}`;
  return {
    url,
    take: () => questions.take(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function answerGood(body: string, method: string | undefined, reply: ServerResponse): void {
  if (method !== 'POST') return void reply.writeHead(method === 'DELETE' ? 200 : 405).end();
  const {
    id,
    method: asked,
    params,
  } = JSON.parse(body) as {
    id?: unknown;
    method: string;
    params?: { arguments?: { text?: string } };
  };
  if (id === undefined) return void reply.writeHead(202).end();
  const results: Record<string, object> = {
    initialize: {
      protocolVersion: '2025-11-25',
      capabilities: { tools: {} },
      serverInfo: { name: 'good', version: '1' },
    },
    'tools/list': { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] },
    'tools/call': { content: [{ type: 'text', text: params?.arguments?.text ?? '' }] },
  };
  reply.writeHead(200, { 'content-type': 'application/json' });
  reply.end(JSON.stringify({ jsonrpc: '2.0', id, result: results[asked] ?? {} }));
}
