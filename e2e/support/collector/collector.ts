import { execFile } from 'node:child_process';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { stringify } from 'yaml';
import { CLUSTER_BIN } from '../../cluster/kubectl.ts';
import { isInstalled } from '../../cluster/support.ts';
import { freePort } from '../ports.ts';
import { type RunningProcess, startProcess } from '../processes.ts';
import { searchFile } from '../secrets/search.ts';
import type { Collected } from './collected.ts';
import { OtlpLines } from './otlp-lines.ts';

/**
 * A real OpenTelemetry Collector: OTLP comes in over gRPC and HTTP, and a file gets all of it before it is acknowledged.
 */
export interface Collector extends AsyncDisposable {
  /** `http://127.0.0.1:<port>`, or https; both stay the same over `stop` and `start`. */
  readonly grpc: string;
  readonly http: string;
  /** Resolves when it takes telemetry. It goes on with the file that it had. */
  start(): Promise<void>;
  /** An orderly end: requests that have come are answered, new connections are refused. */
  stop(): Promise<void>;
  /** Keeps connections open and answers nothing, until `thaw`. */
  freeze(): void;
  thaw(): void;
  /** All that has come, since the beginning. */
  collected(): Promise<Collected>;
  /** Resolves with what has come once it fits, and rejects with what `until` throws at last. */
  waitFor(until: (collected: Collected) => void | Promise<void>, timeoutMs?: number): Promise<Collected>;
  /** Bytes that have come. */
  size(): Promise<number>;
}

export interface CollectorOptions {
  /** Files in PEM; with `clientCa`, clients must have a certificate. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly clientCa?: string };
}

/** For `beforeAll`: the first start on a machine compiles it. */
export const COLLECTOR_START_MS = 15 * 60_000;

const BUILD = join(import.meta.dirname, 'build');
/** The program, which needs no library and no other file but its configuration. */
export const COLLECTOR_PROGRAM = join(CLUSTER_BIN, 'otel-collector');
const READY_MS = 20_000;
const WAIT_MS = 30_000;
const POLL_MS = 50;

/** Why there is no program that was built from the present sources; undefined when there is. */
export async function whyNotBuilt(): Promise<string | undefined> {
  return await promisify(execFile)(BUILD, ['--check']).then(
    () => undefined,
    (error: { stderr?: string }) => error.stderr?.trim() || 'it cannot be looked for',
  );
}

/** Why none can run here, for `context.skip`; undefined when one can, perhaps after it has been built. */
export async function whyNoCollector(): Promise<string | undefined> {
  return (await isInstalled('go')) ? undefined : await whyNotBuilt();
}

/** Compiles it, where that has not been done. */
export async function buildCollector(): Promise<void> {
  await promisify(execFile)(BUILD, [], { timeout: COLLECTOR_START_MS });
}

/** Starts one on free ports; builds it before, where that has not been done. */
export async function startCollector(options: CollectorOptions = {}): Promise<Collector> {
  await buildCollector();
  const folder = await mkdtemp(join(tmpdir(), 'collector-'));
  const collector = new CollectorProcess(folder, await freePort(), await freePort(), options);
  try {
    await collector.start();
  } catch (error) {
    await collector[Symbol.asyncDispose]();
    throw error;
  }
  return collector;
}

class CollectorProcess implements Collector {
  readonly grpc: string;
  readonly http: string;
  readonly #folder: string;
  readonly #ports: { readonly grpc: number; readonly http: number };
  readonly #options: CollectorOptions;
  readonly #lines: OtlpLines;
  #running: RunningProcess | undefined;

  constructor(folder: string, grpc: number, http: number, options: CollectorOptions) {
    const scheme = options.tls === undefined ? 'http' : 'https';
    this.grpc = `${scheme}://127.0.0.1:${grpc}`;
    this.http = `${scheme}://127.0.0.1:${http}`;
    this.#folder = folder;
    this.#ports = { grpc, http };
    this.#options = options;
    this.#lines = new OtlpLines(this.#file);
  }

  async start(): Promise<void> {
    if (this.#running !== undefined) return;
    const config = join(this.#folder, 'config.yaml');
    await writeFile(config, stringify(this.#config()));
    this.#running = startProcess(COLLECTOR_PROGRAM, ['--config', `file:${config}`]);
    await this.#running.waitForStdout(/Everything is ready/, READY_MS);
  }

  async stop(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    running?.kill('SIGCONT');
    await running?.stop();
  }

  freeze(): void {
    this.#running?.kill('SIGSTOP');
  }

  thaw(): void {
    this.#running?.kill('SIGCONT');
  }

  async collected(): Promise<Collected> {
    return await this.#lines.read();
  }

  async waitFor(until: (collected: Collected) => void | Promise<void>, timeoutMs = WAIT_MS): Promise<Collected> {
    const end = performance.now() + timeoutMs;
    for (;;) {
      const collected = await this.collected();
      try {
        await until(collected);
        return collected;
      } catch (error) {
        if (performance.now() > end) throw error;
        await delay(POLL_MS);
      }
    }
  }

  async size(): Promise<number> {
    return await stat(this.#file).then(
      ({ size }) => size,
      () => 0,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await searchFile('what a collector was sent', this.#file);
    await rm(this.#folder, { recursive: true, force: true });
  }

  get #file(): string {
    return join(this.#folder, 'telemetry.jsonl');
  }

  #config(): unknown {
    const { tls } = this.#options;
    const server = (port: number): object => ({
      endpoint: `127.0.0.1:${port}`,
      ...(tls && { tls: { cert_file: tls.cert, key_file: tls.key, client_ca_file: tls.clientCa } }),
    });
    const pipeline = { receivers: ['otlp'], exporters: ['file'] };
    return {
      receivers: { otlp: { protocols: { grpc: server(this.#ports.grpc), http: server(this.#ports.http) } } },
      // With rotation, which is the default, it writes without a buffer: what is acknowledged stands in the file.
      exporters: { file: { path: this.#file, rotation: { max_megabytes: 2000 } } },
      service: {
        telemetry: { logs: { level: 'info', output_paths: ['stdout'] }, metrics: { level: 'none' } },
        pipelines: { metrics: pipeline, logs: pipeline, traces: pipeline },
      },
    };
  }
}
