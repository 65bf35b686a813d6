import { adapter } from './targets.ts';
import type { Target } from './targets.ts';
import { freePort } from './bench.ts';
import { startSink } from './sink.ts';

/** What an adapter tells about itself. */
export interface Told {
  readonly metrics?: boolean;
  readonly logs?: boolean;
  readonly traces?: boolean;
  readonly prometheus?: boolean;
}

/** What of it has arrived. */
export interface Arrived {
  /** Tool calls that the metrics tell of. */
  readonly calls: number;
  readonly logs: number;
  readonly spans: number;
}

export interface ObservedTarget extends Target {
  readonly told: Told;
  /** Known once it has stopped. */
  readonly arrived: Arrived | undefined;
}

const CALLS = 'adapter_upstream_tool_calls_total';
/** A line for each request: with the default there would be nothing to export. */
export const LOGGED = { core: { log_level: 'info' } } as const;
/** More often than anybody would, so that each sample holds its share of it. */
const EXPORT_SECONDS = 1;

/** An adapter with state in memory that is watched: by a collector of its own, by somebody who reads its metrics, or by both. */
export function observedAdapter(name: string, told: Told): ObservedTarget {
  let arrived: Arrived | undefined;
  return {
    name,
    told,
    get arrived() {
      return arrived;
    },
    absent: (bench) => adapter({ name, state: 'memory' }).absent(bench),
    async start(bench, upstream, nodeFlags) {
      const sink = await startSink(bench);
      const port = await freePort();
      try {
        const telemetry = settings(told, sink.origin, port);
        const target = adapter({ name, state: 'memory', extra: { ...LOGGED, telemetry } });
        const running = await target.start(bench, upstream, nodeFlags);
        const reader = told.prometheus ? readAgainAndAgain(`http://127.0.0.1:${port}/metrics`) : undefined;
        return {
          ...running,
          helperPids: [...running.helperPids, sink.pid],
          async stop() {
            const read = await reader?.stop();
            // It sends what it still has.
            await running.stop();
            const { logs, spans, metrics } = await sink.count();
            await sink.stop();
            arrived = { calls: read ?? metrics[CALLS]?.total ?? 0, logs, spans };
          },
        };
      } catch (error) {
        await sink.stop();
        throw error;
      }
    },
  };
}

function settings({ metrics, logs, traces, prometheus }: Told, collector: string, port: number): object {
  return {
    enabled: metrics === true,
    transport: 'http',
    endpoint: `${collector}/v1/metrics`,
    logs_endpoint: `${collector}/v1/logs`,
    export_interval_seconds: EXPORT_SECONDS,
    emit_logs: logs === true,
    traces: { enabled: traces === true, endpoint: `${collector}/v1/traces` },
    prometheus: { enabled: prometheus === true, port },
  };
}

interface Reader {
  /** The calls that it was told of last. */
  stop(): Promise<number>;
}

function readAgainAndAgain(url: string): Reader {
  const read = async (): Promise<string> => {
    const response = await fetch(url, { signal: AbortSignal.timeout(5000) });
    return await response.text();
  };
  const timer = setInterval(() => {
    // What does not work shows in the last one.
    read().catch(() => undefined);
  }, EXPORT_SECONDS * 1000);
  return {
    async stop() {
      clearInterval(timer);
      const lines = (await read()).split('\n').filter((line) => line.startsWith(`${CALLS}{`));
      return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
    },
  };
}
