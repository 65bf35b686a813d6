import type { FastifyInstance } from 'fastify';

import type { AdminPort } from '../lib/http/admin-port.ts';
import { clientPort } from './assembly/client-port.ts';
import { drain } from './assembly/drain.ts';
import { Exposure } from './assembly/exposure.ts';
import { type AdapterOptions, type Foundation, openFoundation } from './assembly/foundation.ts';
import type { HealthObject } from './health/health.ts';
import { openPort } from './http/open-port.ts';
import { RunningDownloads } from './http/running-downloads.ts';
import { openAdmin } from './assembly/open-admin.ts';
import { openServing, type Serving } from './assembly/serving.ts';
import { type OpenTelemetry, openTelemetry } from './telemetry/open/open-telemetry.ts';
import { ToolNames } from './telemetry/tool-names.ts';
import { toleratedPatterns } from './assembly/unusable-patterns.ts';

export interface Adapter {
  /** Opens the port. Upstreams are waited for behind it. Returns the URL. When it throws, everything is closed. */
  listen(host: string, port: number): Promise<string>;
  /** Drains: no new sessions, running calls finish within the grace period, streams end, state is flushed. */
  stop(): Promise<void>;
  /** For a process that has to end now: what telemetry still holds goes out, if that is wanted. */
  terminate(): Promise<void>;
  /** Opens files of logs again, for those that have been moved away. */
  reopenLogs(): void;
  health(authenticated: boolean): Promise<HealthObject>;
}

/** Builds the adapter from its configuration: every part is made here or below, and given only what it needs. */
export async function createAdapter(options: AdapterOptions): Promise<Adapter> {
  const { config, logger } = options;
  for (const { path, pattern, message } of toleratedPatterns(config))
    logger.warn({ path, pattern }, `${path} ${message}`);
  const toolNames = new ToolNames(config.servers.map(({ id }) => id));
  const exposure = new Exposure(config);
  const start = { hasFailed: true };
  const stop = new AbortController();
  const stopping = stop.signal;
  /** What has been opened, to be closed in the reverse order: at the end, or at once when the start fails. */
  await using opening = new AsyncDisposableStack();
  const observing = await openTelemetry({ ...options, tools: toolNames });
  opening.defer(() => (start.hasFailed ? observing.terminate() : observing.stop()));
  const foundation = await openFoundation(options, observing, opening);
  const serving = await openServing(options, { foundation, exposure, toolNames, stopping, opening });
  start.hasFailed = false;
  return new RunningAdapter({ options, observing, foundation, exposure, serving, start, stop, opened: opening.move() });
}

interface RunningDeps {
  readonly options: AdapterOptions;
  readonly observing: OpenTelemetry;
  readonly foundation: Foundation;
  readonly exposure: Exposure;
  readonly serving: Serving;
  /** Whether it failed decides how telemetry ends. */
  readonly start: { hasFailed: boolean };
  readonly stop: AbortController;
  readonly opened: AsyncDisposableStack;
}

class RunningAdapter implements Adapter {
  readonly #deps: RunningDeps;
  readonly #downloads = new RunningDownloads();
  #app: FastifyInstance | undefined;
  #admin: AdminPort | undefined;
  #closed: Promise<void> | undefined;

  constructor(deps: RunningDeps) {
    this.#deps = deps;
  }

  health(authenticated: boolean): Promise<HealthObject> {
    return this.#deps.serving.health(authenticated);
  }

  terminate(): Promise<void> {
    return this.#deps.observing.terminate();
  }

  reopenLogs(): void {
    this.#deps.observing.reopenFiles();
  }

  async listen(host: string, port: number): Promise<string> {
    try {
      return await this.#listen(host, port);
    } catch (error) {
      this.#deps.options.logger.fatal({ err: error }, 'the adapter cannot start');
      this.#deps.start.hasFailed = true;
      await this.stop();
      throw error;
    }
  }

  stop(): Promise<void> {
    return (this.#closed ??= this.#close());
  }

  async #listen(host: string, port: number): Promise<string> {
    const { options, observing, foundation, exposure, serving, stop } = this.#deps;
    const hosts = exposure.expose(host);
    for (const { message } of exposure.warnings) options.logger.warn(message);
    await observing.listen(host, hosts);
    this.#app = clientPort(host, hosts, {
      ...serving,
      downloads: this.#downloads,
      account: foundation.account,
      baseUrl: exposure.baseUrl,
      isDraining: () => stop.signal.aborted,
      known: foundation.known,
      logger: options.logger,
    });
    await serving.janitor.reconcile(stop.signal);
    const { url, listening } = await openPort(this.#app, { host, port });
    exposure.listensAt(listening);
    this.#admin = await this.#openAdmin();
    serving.pings.start();
    void serving.identity.start();
    return url;
  }

  async #openAdmin(): Promise<AdminPort | undefined> {
    const { options, foundation, serving } = this.#deps;
    const { admin, redaction } = options;
    if (admin === undefined) return undefined;
    const secret = (): string => foundation.secrets.hashing.value;
    return openAdmin(admin, { ...options, ...foundation, ...serving, secret, redact: redaction.text });
  }

  async #close(): Promise<void> {
    const { options, foundation, serving, stop, opened } = this.#deps;
    const { running, sandbox, janitor } = serving;
    stop.abort();
    await janitor.stopReconciling();
    await drain({
      app: this.#app,
      running,
      uploads: foundation.opened?.uploads,
      downloads: this.#downloads,
      sandbox,
      endWaits: () => foundation.state.endWaits(),
      graceMs: options.shutdownGraceMs,
    });
    await this.#admin?.close();
    await opened.disposeAsync();
  }
}
