import { isObject } from '../../../lib/json/json-object.ts';
import { listAt, numberAt, textAt } from '../../kubernetes/unstructured.ts';
import { askAdapter, onePod } from '../cluster/program-pods.ts';
import { printed } from '../output/printed.ts';
import { age, bytes, table } from '../output/table.ts';
import { formatOf, namesOf, readClusterArgs, type Run, whereOf } from './command.ts';
import { limitOf } from './sessions.ts';

const PAGE = 500;

export const list: Run = async (args, { connect, streams }) => {
  const { values, positionals } = readClusterArgs(args, { server: { type: 'string' }, limit: { type: 'string' } });
  const [name = ''] = namesOf(positionals, ['McpAdapter']);
  const format = formatOf(values);
  const limit = limitOf(values.limit);
  await using cluster = await connect(whereOf(values));
  const pod = await onePod(cluster, name);
  /** One may come twice while others are added. */
  const files = new Map<string, unknown>();
  let cursor: string | undefined = '';
  while (cursor !== undefined && files.size < limit) {
    const from = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const page = await askAdapter(cluster, pod, 'GET', `/v1/files?limit=${PAGE}${from}`);
    for (const file of listAt(page, 'files')) {
      if (values.server === undefined || textAt(file, 'server_id') === values.server) {
        files.set(textAt(file, 'file') ?? '', file);
      }
    }
    cursor = textAt(page, 'next_cursor');
  }
  const shown = [...files.values()].slice(0, limit);
  const isCut = cursor !== undefined || files.size > limit;
  streams.out(printed(format, { files: shown, complete: !isCut }, (isWide) => filesText(shown, isWide)));
  if (isCut) streams.err(`There are more than these ${shown.length}; see --limit.`);
  return 0;
};

function filesText(files: readonly unknown[], isWide: boolean): string {
  const now = Date.now();
  const more = isWide ? ['SESSION', 'TYPE', 'VERSION'] : [];
  const head = ['FILE', 'SERVER', 'KIND', 'NAME', 'SIZE', 'TOOL', 'IN USE', 'UNUSED FOR', ...more];
  const rows = files
    .filter(isObject)
    .map((one) => [
      textAt(one, 'file'),
      textAt(one, 'server_id'),
      textAt(one, 'kind'),
      textAt(one, 'filename'),
      bytes(numberAt(one, 'bytes') ?? 0),
      textAt(one, 'tool'),
      one['in_use'] === true ? 'yes' : 'no',
      age((now - Date.parse(textAt(one, 'last_used_at') ?? '')) / 1000),
      ...(isWide ? [textAt(one, 'session'), textAt(one, 'mime_type'), numberAt(one, 'version')] : []),
    ]);
  return table(head, rows) || 'No files.';
}

export const remove: Run = async (args, { connect, streams }) => {
  const { values, positionals } = readClusterArgs(args, {});
  const [name = '', file = ''] = namesOf(positionals, ['McpAdapter', 'file']);
  await using cluster = await connect(whereOf(values));
  const pod = await onePod(cluster, name);
  await askAdapter(cluster, pod, 'POST', `/v1/files/${encodeURIComponent(file)}/remove`);
  streams.out(`file ${file} is removed`);
  return 0;
};
