import { UsageError } from '../../command-line.ts';
import { isObject } from '../../../lib/json/json-object.ts';
import { listAt, numberAt, textAt } from '../../kubernetes/unstructured.ts';
import { askAdapter, onePod } from '../cluster/program-pods.ts';
import { printed } from '../output/printed.ts';
import { age, table } from '../output/table.ts';
import { formatOf, namesOf, readClusterArgs, type Run, whereOf } from './command.ts';

const PAGE = 500;
/** A list that nobody reads is not fetched. */
const MOST = 10_000;

export const list: Run = async (args, { connect, streams }) => {
  const { values, positionals } = readClusterArgs(args, { server: { type: 'string' }, limit: { type: 'string' } });
  const [name = ''] = namesOf(positionals, ['McpAdapter']);
  const format = formatOf(values);
  const limit = limitOf(values.limit);
  await using cluster = await connect(whereOf(values));
  const pod = await onePod(cluster, name);
  const sessions: unknown[] = [];
  let offset: number | undefined = 0;
  while (offset !== undefined && sessions.length < limit) {
    const page = await askAdapter(cluster, pod, 'GET', `/v1/sessions?offset=${offset}&limit=${PAGE}`);
    const found = listAt(page, 'sessions');
    sessions.push(...found.filter((one) => values.server === undefined || textAt(one, 'server_id') === values.server));
    offset = numberAt(page, 'next_offset');
  }
  const shown = sessions.slice(0, limit);
  const isCut = offset !== undefined || sessions.length > limit;
  const text = (isWide: boolean): string => sessionsText(shown, isWide);
  streams.out(printed(format, { sessions: shown, complete: !isCut }, text));
  if (isCut) streams.err(`There are more than these ${shown.length}; --limit shows up to ${MOST}.`);
  return 0;
};

/** @throws UsageError */
export function limitOf(text = '100'): number {
  const value = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= 1 && value <= MOST) return value;
  throw new UsageError(`--limit must be a number from 1 to ${MOST}, not "${text}"`);
}

function sessionsText(sessions: readonly unknown[], isWide: boolean): string {
  const now = Date.now();
  const since = (one: unknown, member: string): string => age((now - Date.parse(textAt(one, member) ?? '')) / 1000);
  const head = ['SESSION', 'SERVER', 'KIND', 'REVISION', 'CLIENT', 'IDLE', 'AGE', ...(isWide ? ['PRINCIPAL'] : [])];
  const rows = sessions
    .filter(isObject)
    .map((one) => [
      textAt(one, 'session'),
      textAt(one, 'server_id'),
      textAt(one, 'kind'),
      textAt(one, 'protocol_version'),
      textAt(one, 'client'),
      since(one, 'last_active_at'),
      since(one, 'created_at'),
      ...(isWide ? [textAt(one, 'principal')] : []),
    ]);
  return table(head, rows) || 'No sessions.';
}

export const end: Run = async (args, { connect, streams }) => {
  const { values, positionals } = readClusterArgs(args, {});
  const [name = '', session = ''] = namesOf(positionals, ['McpAdapter', 'session']);
  await using cluster = await connect(whereOf(values));
  const pod = await onePod(cluster, name);
  await askAdapter(cluster, pod, 'POST', `/v1/sessions/${encodeURIComponent(session)}/end`);
  streams.out(`session ${session} has ended`);
  return 0;
};
