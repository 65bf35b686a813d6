import { parse } from 'yaml';

import { UsageError } from '../../command-line.ts';
import { isObject } from '../../../lib/json/json-object.ts';
import { listAt, numberAt, textAt } from '../../kubernetes/unstructured.ts';
import { ProblemError } from '../cluster/failures.ts';
import { askSource, sourceOf } from '../cluster/source-pods.ts';
import { printed } from '../output/printed.ts';
import { table } from '../output/table.ts';
import { coloured } from '../output/visible.ts';
import { formatOf, namesOf, readClusterArgs, type Run, whereOf } from './command.ts';
import { limitOf } from './sessions.ts';
import { sourceName } from './target.ts';

const PAGE = 500;

export const explain: Run = async (args, { connect, streams }) => {
  const { values, positionals } = readClusterArgs(args, { limit: { type: 'string', default: '5' } });
  const [given = ''] = namesOf(positionals, ['ApiScrapeSource']);
  const format = formatOf(values);
  if (!/^\d{1,3}$/.test(values.limit))
    throw new UsageError(`--limit must be a number up to 100, not "${values.limit}"`);
  await using cluster = await connect(whereOf(values));
  const source = await sourceOf(cluster, sourceName(given));
  const said = await askSource(cluster, source, { method: 'POST', path: `/explain?limit=${values.limit}` });
  const text = textAt(said, 'text') ?? '';
  streams.out(format === 'json' ? printed(format, parse(text) as object, () => '') : coloured(text.trimEnd()));
  return isObject(said) && said['fine'] === true ? 0 : 1;
};

const STATES = ['open', 'exporting', 'exported', 'committed', 'dead'];

export const windows: Run = async (args, { connect, streams }) => {
  const { values, positionals } = readClusterArgs(args, { limit: { type: 'string' }, state: { type: 'string' } });
  const [given = ''] = namesOf(positionals, ['ApiScrapeSource']);
  const format = formatOf(values);
  const limit = limitOf(values.limit);
  const { state } = values;
  if (state !== undefined && !STATES.includes(state)) {
    throw new UsageError(`--state must be one of ${STATES.join(', ')}, not "${state}"`);
  }
  await using cluster = await connect(whereOf(values));
  const source = await sourceOf(cluster, sourceName(given));
  /** One may come twice while others are added. */
  const found = new Map<string, unknown>();
  let offset: number | undefined = 0;
  while (offset !== undefined && found.size < limit) {
    const page = await askSource(cluster, source, { method: 'GET', path: `/windows?offset=${offset}&limit=${PAGE}` });
    for (const one of listAt(page, 'windows')) {
      if (state === undefined || textAt(one, 'state') === state) found.set(textAt(one, 'id') ?? '', one);
    }
    offset = numberAt(page, 'next_offset');
  }
  const shown = [...found.values()].slice(0, limit);
  const isCut = offset !== undefined || found.size > limit;
  streams.out(printed(format, { windows: shown, complete: !isCut }, () => windowsText(shown)));
  if (isCut) streams.err(`There are more than these ${shown.length}; see --limit.`);
  return 0;
};

function windowsText(shown: readonly unknown[]): string {
  const head = ['STATE', 'KIND', 'START', 'END', 'ATTEMPTS', 'ERROR'];
  const rows = shown.map((one) => [
    textAt(one, 'state'),
    textAt(one, 'kind'),
    textAt(one, 'start'),
    textAt(one, 'end'),
    numberAt(one, 'attempts'),
    textAt(one, 'error'),
  ]);
  return table(head, rows) || 'No windows.';
}

export const backfill: Run = async (args, { connect, streams }) => {
  const { values, positionals } = readClusterArgs(args, {});
  const [given = '', start = '', end = ''] = namesOf(positionals, ['ApiScrapeSource', 'start', 'end']);
  await using cluster = await connect(whereOf(values));
  const source = await sourceOf(cluster, sourceName(given));
  const said = await askSource(cluster, source, { method: 'POST', path: '/backfill', body: { start, end } });
  const count = numberAt(said, 'windows');
  if (count === undefined) throw new ProblemError('the pod did not say what it planned');
  streams.out(
    `${count} window${count === 1 ? ' is' : 's are'} planned, from ${textAt(said, 'start')} to ${textAt(said, 'end')}`,
  );
  return 0;
};

export const retry: Run = async (args, { connect, streams, signal }) => {
  const { values, positionals } = readClusterArgs(args, {});
  const [given = ''] = namesOf(positionals, ['ApiScrapeSource']);
  await using cluster = await connect(whereOf(values));
  const source = await sourceOf(cluster, sourceName(given));
  let opened = 0;
  let left = 0;
  do {
    const said = await askSource(cluster, source, { method: 'POST', path: '/retry' });
    const windows = numberAt(said, 'windows') ?? 0;
    opened += windows;
    // Those that are set aside again meanwhile are not waited for.
    left = windows === 0 ? 0 : (numberAt(said, 'left') ?? 0);
  } while (left > 0 && !signal.aborted);
  streams.out(`${opened} window${opened === 1 ? ' is' : 's are'} tried again`);
  return 0;
};
