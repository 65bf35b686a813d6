import { listAt, textAt } from '../../kubernetes/unstructured.ts';
import { adapterOf, askAdapter, onePod } from '../cluster/program-pods.ts';
import { ProblemError } from '../cluster/failures.ts';
import { printed } from '../output/printed.ts';
import { table } from '../output/table.ts';
import { formatOf, namesOf, readClusterArgs, type Run, whereOf } from './command.ts';

export const run: Run = async (args, { connect, streams }) => {
  const { values, positionals } = readClusterArgs(args, {
    server: { type: 'string' },
    principal: { type: 'string' },
    scopes: { type: 'string' },
    hidden: { type: 'boolean' },
  });
  const [name = ''] = namesOf(positionals, ['McpAdapter']);
  const format = formatOf(values);
  await using cluster = await connect(whereOf(values));
  const adapter = await adapterOf(cluster, name);
  const ids = listAt(adapter, 'spec', 'config', 'servers').flatMap((server) => textAt(server, 'id') ?? []);
  const asked = values.server === undefined ? ids : ids.filter((id) => id === values.server);
  if (asked.length === 0) throw new ProblemError(`the McpAdapter ${name} has no server ${values.server ?? ''}`.trim());
  const pod = await onePod(cluster, name);
  const query = new URLSearchParams();
  for (const key of ['principal', 'scopes'] as const) if (values[key] !== undefined) query.set(key, values[key]);
  const servers: object[] = [];
  const rows: (string | undefined)[][] = [];
  const failures: Error[] = [];
  for (const id of asked) {
    const path = `/v1/servers/${encodeURIComponent(id)}/tools${query.size > 0 ? `?${query.toString()}` : ''}`;
    try {
      const tools = listAt(await askAdapter(cluster, pod, 'GET', path), 'tools').filter(
        (tool) => values.hidden !== true || textAt(tool, 'seen') !== 'listed',
      );
      servers.push({ server: id, tools });
      const columns = ['name', 'seen', 'from', 'why'];
      rows.push(...tools.map((tool) => [id, ...columns.map((key) => textAt(tool, key))]));
    } catch (error) {
      // The others have their say.
      failures.push(error as Error);
      servers.push({ server: id, error: (error as Error).message });
      rows.push([id, undefined, 'unknown', undefined, (error as Error).message]);
    }
  }
  const head = ['SERVER', 'TOOL', 'CLIENTS', 'FROM', 'WHY'];
  streams.out(printed(format, { pod: pod.metadata.name, servers }, () => table(head, rows) || 'No tools.'));
  if (failures[0] !== undefined) throw failures[0];
  return 0;
};
