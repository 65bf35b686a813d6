import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Adapter, createAdapter } from '../../../adapter/app.ts';
import { LogOutput } from '../../../adapter/telemetry/logs/log-output.ts';
import { createLogger, type LogLevel } from '../../../adapter/telemetry/logs/logger.ts';
import { loadAdapterConfig } from '../../../crds/config/load/load.ts';
import { redactionOf } from '../../../crds/config/adapter-file/redact-config.ts';
import { searchOutput } from '../../support/secrets/search.ts';
import type { JsonObject } from '../../support/scripted-upstream/json-rpc.ts';
import { merged } from './deployment.ts';

export interface InProcessAdapter extends AsyncDisposable {
  readonly adapter: Adapter;
  readonly port: number;
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  /** The log so far. */
  readonly logs: JsonObject[];
}

export interface InProcessOptions {
  readonly env?: Record<string, string>;
  /** Default: debug. */
  readonly logLevel?: LogLevel;
  readonly shutdownGraceMs?: number;
  /** Default: any that is free. */
  readonly port?: number;
  /** Default: 127.0.0.1. */
  readonly host?: string;
}

/**
 * One replica in this process, for tests that need neither signals nor exit codes. Its state is in memory, its files
 * in a temporary folder, and it neither pings nor waits at start unless the configuration says so.
 */
export async function startInProcess(config: JsonObject, options: InProcessOptions = {}): Promise<InProcessAdapter> {
  const { env = {}, logLevel = 'debug', shutdownGraceMs = 0, host = '127.0.0.1', port = 0 } = options;
  const quiet = { max_start_wait_seconds: 0, cleanup_interval_seconds: null, upstream_ping: { enabled: false } };
  const root = await mkdtemp(join(tmpdir(), 'adapter-'));
  const defaults = { core: quiet, state_persistence: { type: 'memory' }, storage: { root } };
  const text = JSON.stringify(merged(defaults, config));
  const loaded = loadAdapterConfig(text, env);
  const logs: JsonObject[] = [];
  const redaction = redactionOf(loaded, env);
  const searched = searchOutput('log of an adapter in the process of the tests');
  const logOutput = new LogOutput({
    write: (line) => {
      logs.push(JSON.parse(line));
      searched?.(line);
    },
  });
  const logger = createLogger(logLevel, redaction, logOutput);
  const adapter = await createAdapter({
    config: loaded,
    logger,
    redaction,
    logOutput,
    env,
    version: 'test',
    shutdownGraceMs,
    exit: (reason) => {
      throw new Error(`the adapter wants to exit: ${reason}`);
    },
  });
  const url = (await adapter.listen(host, port)).replace('0.0.0.0', '127.0.0.1');
  const dispose = async (): Promise<void> => {
    await adapter.stop();
    await rm(root, { recursive: true, force: true });
  };
  return { adapter, port: Number(new URL(url).port), url, logs, [Symbol.asyncDispose]: dispose };
}
