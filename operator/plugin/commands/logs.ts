import { sideBySide } from '../../../lib/side-by-side.ts';
import { UsageError } from '../../command-line.ts';
import { queryOf } from '../../kubernetes/api-paths.ts';
import { CONTAINER } from '../../mcp-adapter/config/defaults.ts';
import type { Cluster } from '../cluster/connect.ts';
import { ProblemError } from '../cluster/failures.ts';
import { adapterPods } from '../cluster/program-pods.ts';
import { namesOf, readClusterArgs, type Run, whereOf } from './command.ts';
import { follow } from './logs/follow.ts';
import { lineText, type LogLine, logLine, merged } from './logs/merged.ts';

const AT_ONCE = 8;
/** Of one pod; the rest is left out, oldest first, by the API server. */
const MAX_BYTES = 10 << 20;

export const run: Run = async (args, { connect, streams, signal }) => {
  const { values, positionals } = readClusterArgs(args, {
    since: { type: 'string' },
    tail: { type: 'string', default: '1000' },
    request: { type: 'string' },
    follow: { type: 'boolean', short: 'f' },
  });
  const [name = ''] = namesOf(positionals, ['McpAdapter']);
  if (!/^\d{1,6}$/.test(values.tail)) throw new UsageError(`--tail must be a number of lines, not "${values.tail}"`);
  if (values.output === 'yaml') throw new UsageError('logs are text or json');
  const query = { container: CONTAINER, tailLines: Number(values.tail), sinceSeconds: secondsOf(values.since) };
  await using cluster = await connect(whereOf(values));
  const pods = await podNames(cluster, name);
  if (pods.length === 0) {
    throw new ProblemError(`there are no pods of a McpAdapter ${name} in the namespace ${cluster.namespace}`);
  }
  const print = (line: LogLine): void => {
    if (values.request !== undefined && line.request !== values.request) return;
    streams.out(lineText(line, values.output === 'json'));
  };
  if (values.follow === true) {
    await follow({
      pods: () => podNames(cluster, name),
      log: (pod, isLate) =>
        stream(cluster, pod, { ...(isLate ? { container: CONTAINER } : query), follow: true }, signal),
      print,
      signal,
    });
    return 0;
  }
  const lines = await sideBySide(pods, AT_ONCE, (pod) => linesOf(cluster, pod, query, signal));
  for (const line of merged(lines.flat())) print(line);
  return 0;
};

const podNames = async (cluster: Cluster, name: string): Promise<string[]> =>
  (await adapterPods(cluster, name)).map(({ metadata }) => metadata.name);

type Query = Readonly<Record<string, string | number | boolean | undefined>>;

const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** `10m` is 600. @throws UsageError */
function secondsOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const [, count, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  const seconds = Number(count) * (UNITS[unit] ?? Number.NaN);
  if (seconds > 0) return seconds;
  throw new UsageError(`--since must be a time such as 30s, 10m, 2h or 1d, not "${text}"`);
}

function stream({ transport, namespace }: Cluster, pod: string, query: Query, signal: AbortSignal) {
  const name = (text: string): string => encodeURIComponent(text);
  const path = `/api/v1/namespaces/${name(namespace)}/pods/${name(pod)}/log${queryOf(query)}`;
  return transport.stream({ method: 'GET', path, signal });
}

async function linesOf(cluster: Cluster, pod: string, query: Query, signal: AbortSignal): Promise<LogLine[]> {
  const parts: Uint8Array[] = [];
  for await (const part of stream(cluster, pod, { ...query, limitBytes: MAX_BYTES }, signal)) parts.push(part);
  const text = Buffer.concat(parts).toString('utf8');
  return text.split('\n').flatMap((line) => (line === '' ? [] : [logLine(pod, line)]));
}
