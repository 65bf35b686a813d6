import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { FleetSize } from './fleet.ts';

/** What an operator's /metrics say, summed over the labels that are not asked for. */
export interface OperatorMetrics {
  /** Of all controllers and outcomes. */
  readonly reconciles: number;
  readonly failedReconciles: number;
  /** By verb: get, list, watch, apply, … */
  readonly requests: Readonly<Record<string, number>>;
  readonly queued: number;
  /** McpAdapters and ApiScrapeSources whose spec is accepted. */
  readonly acceptedAdapters: number;
  readonly acceptedSources: number;
}

export async function readMetrics(port: number): Promise<OperatorMetrics> {
  const response = await fetch(`http://127.0.0.1:${port}/metrics`, { signal: AbortSignal.timeout(10_000) });
  const samples = parseSamples(await response.text());
  const sum = (name: string, labels: Readonly<Record<string, string>> = {}): number =>
    samples
      .filter(
        (one) => one.name === name && Object.entries(labels).every(([label, value]) => one.labels[label] === value),
      )
      .reduce((total, { value }) => total + value, 0);
  const requests: Record<string, number> = {};
  for (const { name, labels, value } of samples) {
    const verb = labels['verb'];
    if (name === 'mcp_operator_api_requests_total' && verb !== undefined)
      requests[verb] = (requests[verb] ?? 0) + value;
  }
  const accepted = (kind: string): number =>
    sum('mcp_operator_resources', { kind, condition: 'Accepted', status: 'True' });
  return {
    reconciles: sum('mcp_operator_reconciles_total'),
    failedReconciles:
      sum('mcp_operator_reconciles_total', { outcome: 'failed' }) +
      sum('mcp_operator_reconciles_total', { outcome: 'terminal' }),
    requests,
    queued: sum('mcp_operator_queue_depth'),
    acceptedAdapters: accepted('McpAdapter'),
    acceptedSources: accepted('ApiScrapeSource'),
  };
}

interface PrometheusSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** The samples of a text in Prometheus' format, whose label values hold no quotes. */
function parseSamples(text: string): PrometheusSample[] {
  return text.split('\n').flatMap((line) => {
    const match = /^([a-z_]+)(?:\{(.*)\})? (\S+)/i.exec(line);
    if (match === null) return [];
    const [, name = '', labels = '', value] = match;
    const pairs = [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, label = '', text = '']) => [label, text] as const);
    return [{ name, labels: Object.fromEntries(pairs), value: Number(value) }];
  });
}

const WRITES = ['apply', 'create', 'update', 'patch', 'delete'];

export function writesIn(requests: OperatorMetrics['requests']): number {
  return WRITES.reduce((sum, verb) => sum + (requests[verb] ?? 0), 0);
}

/** A started operator. */
export interface ObservedOperator {
  readonly pid: number;
  /** Of /metrics. */
  readonly port: number;
  /** Why it can no longer be waited for, or undefined. */
  readonly fate: () => string | undefined;
}

/** Polls until `done` says so. @throws after `limitMs`, or when the operator ends */
export async function untilMetrics(
  { port, fate }: ObservedOperator,
  done: (metrics: OperatorMetrics) => boolean,
  limitMs: number,
): Promise<OperatorMetrics> {
  const end = performance.now() + limitMs;
  let last: OperatorMetrics | undefined;
  while (performance.now() < end) {
    const ended = fate();
    if (ended !== undefined) throw new Error(ended);
    // Until its port is open.
    last = (await readMetrics(port).catch(() => undefined)) ?? last;
    if (last !== undefined && done(last)) return last;
    await delay(100);
  }
  throw new Error(`the operator did not come to that within ${limitMs} ms: ${JSON.stringify(last)}`);
}

/** Every resource of the fleet is accepted, and nothing waits to be looked at. */
export function hasConverged({ queued, acceptedAdapters, acceptedSources }: OperatorMetrics, size: FleetSize): boolean {
  return queued === 0 && acceptedAdapters === size.adapters && acceptedSources === size.sources;
}

export interface ProcessUse {
  /** Resident memory now, and at its highest, in MB (10⁶ bytes). */
  readonly residentMb: number;
  readonly peakMb: number;
  /** CPU time since the start. */
  readonly cpuSeconds: number;
}

/** Source: proc(5), /proc/PID/status and /proc/PID/stat. */
export function processUse(pid: number): ProcessUse {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const mb = (field: string): number =>
    (Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status)?.[1]) * 1024) / 1e6;
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name in parentheses may hold spaces.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return {
    residentMb: mb('VmRSS'),
    peakMb: mb('VmHWM'),
    cpuSeconds: (Number(fields[11]) + Number(fields[12])) / 100,
  };
}
