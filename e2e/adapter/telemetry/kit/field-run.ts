import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pool } from 'undici';
import type { GrpcReceiver } from '../../../../lib/otlp/testing/grpc-receiver.ts';
import { ok, OtlpReceiver, type ReceivedRequest } from '../../../../lib/otlp/testing/otlp-receiver.ts';
import { type RunningAdapter, startAdapter } from '../../../support/adapter-process.ts';
import { freePort } from '../../../support/ports.ts';
import type { JsonObject } from '../../../support/scripted-upstream/json-rpc.ts';
import type { ScriptedUpstream } from '../../../support/scripted-upstream/scripted-upstream.ts';
import { merged, mounted } from '../../kit/deployment.ts';
import { type Door, drain, openSession } from '../../kit/session.ts';
import { scrape, total } from './prometheus.ts';
import { until } from './until.ts';

/** Requests of `burst`, and how many there are at a time. */
const BURST = 500;
const AT_A_TIME = 100;
/** Longer than any test: what has this period happens at the end only. */
const NEVER_SECONDS = 600;

export interface FieldRunOptions {
  /** The endpoint takes requests and answers none. */
  readonly hangs: boolean;
  /** How long running calls may go on after the first signal. */
  readonly graceSeconds: number;
  /** What is exported to, when it is not the server over HTTP. */
  readonly grpc?: { readonly url: string; readonly receiver: GrpcReceiver };
}

/** An adapter with telemetry of its own, and the server over HTTP to which it exports. */
export class FieldRun implements AsyncDisposable {
  readonly adapter: RunningAdapter;
  readonly folder: string;
  /** Port of `telemetry.prometheus`. */
  readonly port: number;
  /** Milliseconds after which the adapter gave up an export, by path. */
  readonly aborted: ReadonlyMap<string, number>;
  /** Milliseconds from the signal to the end. */
  stopMs: number | undefined;
  /** How many exports there were when the signal came. */
  #before: number | undefined;
  readonly #receiver: Receiver;
  readonly #door: Door;
  readonly #stack: AsyncDisposableStack;

  private constructor(parts: Pick<FieldRun, 'adapter' | 'folder' | 'port' | 'aborted'>, own: Own) {
    this.adapter = parts.adapter;
    this.folder = parts.folder;
    this.port = parts.port;
    this.aborted = parts.aborted;
    [this.#receiver, this.#door, this.#stack] = own;
  }

  /** @param telemetry the section, in which nothing happens by itself unless it says so */
  static async start(
    upstream: ScriptedUpstream,
    telemetry: (place: { url: string; folder: string }) => JsonObject,
    options: FieldRunOptions,
  ): Promise<FieldRun> {
    await using stack = new AsyncDisposableStack();
    const folder = await mkdtemp(join(tmpdir(), 'telemetry-fields-'));
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    const receiver = stack.use(new OtlpReceiver());
    const aborted = new Map<string, number>();
    receiver.always = (response, request) => {
      if (!options.hangs) return ok(response, request);
      const came = performance.now();
      response.once('close', () => aborted.set(request.path, performance.now() - came));
    };
    const url = await receiver.listen();
    const port = await freePort();
    const base = {
      enabled: true,
      transport: 'http',
      endpoint: options.grpc?.url ?? `${url}/v1/metrics`,
      logs_endpoint: `${url}/v1/logs`,
      export_interval_seconds: NEVER_SECONDS,
      periodic_flush_seconds: NEVER_SECONDS,
      prometheus: { enabled: true, host: '127.0.0.1', port },
    };
    const config = {
      core: {
        log_level: 'info',
        max_start_wait_seconds: 0,
        shutdown_grace_seconds: options.graceSeconds,
        upstream_ping: { enabled: false },
      },
      state_persistence: { type: 'memory' },
      servers: [mounted('up', upstream.url)],
      telemetry: merged(base, telemetry({ url, folder })),
    };
    const adapter = stack.use(await startAdapter({ config }));
    const door = (await openSession(adapter)).at(adapter);
    for (let i = 0; i < 3; i += 1) await door.tool('echo', { i });
    return new FieldRun({ adapter, folder, port, aborted }, [options.grpc?.receiver ?? receiver, door, stack.move()]);
  }

  /** Exports that have come. */
  get exports(): readonly ReceivedRequest[] {
    return this.#receiver.requests;
  }

  get metricExports(): readonly ReceivedRequest[] {
    return this.exports.filter(({ points }) => points.length > 0);
  }

  get logExports(): readonly ReceivedRequest[] {
    return this.exports.filter(({ logs }) => logs.length > 0);
  }

  get spanExports(): readonly ReceivedRequest[] {
    return this.exports.filter(({ spans }) => spans.length > 0);
  }

  /** Whether exports have come since the signal. */
  get exportsAtTheEnd(): boolean {
    return this.#before !== undefined && this.exports.length > this.#before;
  }

  /** What the Prometheus endpoint says, also at other places; undefined when there is none. */
  async scraped(name: string, labels: Record<string, string> = {}, place: { host?: string; path?: string } = {}) {
    const { host = '127.0.0.1', path = '/metrics' } = place;
    return await scrape(`http://${host}:${this.port}${path}`).then(
      ({ samples }) => total(samples, name, labels),
      () => undefined,
    );
  }

  dropped(signal: string, reason: string): Promise<number | undefined> {
    return this.scraped('adapter_telemetry_dropped_total', { signal, reason });
  }

  async auditFile(): Promise<string> {
    return await readFile(join(this.folder, 'audit.jsonl'), 'utf8').catch(() => '');
  }

  /** Many requests at the same moment. */
  async burst(): Promise<void> {
    const pool = new Pool(this.adapter.url, { connections: AT_A_TIME });
    const sent = Array.from({ length: BURST }, () => pool.request({ path: '/nothing', method: 'GET' }));
    await Promise.all(sent.map(async (response) => (await response).body.dump()));
    await pool.destroy();
  }

  /** Ends it as orchestrators do. */
  async stop(): Promise<void> {
    this.#before = this.exports.length;
    const began = performance.now();
    await this.adapter.stop(30_000);
    this.stopMs = performance.now() - began;
  }

  /** Ends it by a second signal, while it waits for a call. */
  async stopTwice(upstream: ScriptedUpstream, key: string): Promise<void> {
    const slow = this.#door.tool('slow', { key }).catch(() => undefined);
    await until('the slow call', () => upstream.requestsOf('tools/call').some(({ text }) => text.includes(key)));
    this.#before = this.exports.length;
    this.adapter.kill('SIGTERM');
    await until('draining', async () => (await drain(fetch(`${this.adapter.url}/readyz`))) === 503);
    this.adapter.kill('SIGTERM');
    await this.adapter.exitsWithin(10_000);
    await slow;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }
}

type Receiver = Pick<OtlpReceiver, 'requests'>;
type Own = readonly [receiver: Receiver, door: Door, stack: AsyncDisposableStack];
