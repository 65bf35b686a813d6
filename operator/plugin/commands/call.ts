import { readFile } from 'node:fs/promises';

import { UsageError } from '../../command-line.ts';
import { isObject } from '../../../lib/json/json-object.ts';
import { listAt, numberAt, textAt } from '../../kubernetes/unstructured.ts';
import type { KubernetesObject } from '../../kubernetes/kubernetes.ts';
import { CONTAINER, PORT_NAME } from '../../mcp-adapter/config/defaults.ts';
import { ProblemError, UnreachableError } from '../cluster/failures.ts';
import { adapterOf, onePod } from '../cluster/program-pods.ts';
import { printed } from '../output/printed.ts';
import { visible } from '../output/visible.ts';
import { formatOf, namesOf, readClusterArgs, type Run, whereOf } from './command.ts';
import { callTool } from './call/mcp-client.ts';

const DEFAULT_AUTH_HEADER = 'X-Mcp-Adapter-Auth-Token';
const DEFAULT_PORT = 8932;

export const run: Run = async (args, { connect, streams, env, version }) => {
  const { values, positionals } = readClusterArgs(args, {
    'token-env': { type: 'string' },
    bearer: { type: 'boolean' },
    header: { type: 'string', multiple: true },
    timeout: { type: 'string', default: '60' },
  });
  const [name = '', server = '', tool = '', text = '{}'] = namesOf(
    positionals,
    ['McpAdapter', 'server', 'tool', 'arguments'],
    3,
  );
  const format = formatOf(values);
  const seconds = /^\d{1,4}$/.test(values.timeout) ? Number(values.timeout) : Number.NaN;
  if (!(seconds >= 1)) throw new UsageError(`--timeout must be seconds from 1 to 9999, not "${values.timeout}"`);
  const given = await argumentsOf(text);
  await using cluster = await connect(whereOf(values));
  const adapter = await adapterOf(cluster, name);
  const path = mountPathOf(adapter, server);
  const headers: Record<string, string> = {};
  for (const header of values.header ?? []) {
    const [, key, value] = /^([\w-]+):\s*(.*)$/.exec(header) ?? [];
    if (key === undefined || value === undefined) throw new UsageError("--header must be 'NAME: VALUE'");
    headers[key.toLowerCase()] = value;
  }
  if (values['token-env'] !== undefined) {
    const token = env[values['token-env']];
    if (!token) throw new UsageError(`the variable ${values['token-env']} is not set`);
    const own = textAt(adapter, 'spec', 'config', 'core', 'auth', 'header_name') ?? DEFAULT_AUTH_HEADER;
    if (values.bearer === true) headers['authorization'] = `Bearer ${token}`;
    else headers[own.toLowerCase()] = token;
  }
  const pod = await onePod(cluster, name);
  const at = { namespace: cluster.namespace, pod: pod.metadata.name, port: portOf(pod) };
  // The names of the Service are served, also where nothing else is.
  headers['host'] = hostOf(adapter) ?? 'localhost';
  const result = await callTool(cluster, at, { path, headers, tool, given, version, timeoutMs: seconds * 1000 });
  streams.out(printed(format, result, () => resultText(result)));
  return result['isError'] === true ? 1 : 0;
};

/** JSON, or `@FILE` with JSON. @throws UsageError */
async function argumentsOf(text: string): Promise<Readonly<Record<string, unknown>>> {
  let value: unknown;
  try {
    value = JSON.parse(text.startsWith('@') ? await readFile(text.slice(1), 'utf8') : text);
  } catch (error) {
    throw new UsageError(`the arguments must be a JSON object, or @FILE with one: ${(error as Error).message}`);
  }
  if (!isObject(value)) throw new UsageError('the arguments must be a JSON object');
  return value;
}

function mountPathOf(adapter: KubernetesObject, server: string): string {
  const servers = listAt(adapter, 'spec', 'config', 'servers');
  const path = textAt(
    servers.find((one) => textAt(one, 'id') === server),
    'mount_path',
  );
  if (path === undefined) {
    const ids = servers.flatMap((one) => textAt(one, 'id') ?? []).join(', ');
    throw new ProblemError(`the McpAdapter ${adapter.metadata.name} has no server ${server}, but ${ids}`);
  }
  if (path.includes('${')) throw new ProblemError(`only the pods know where ${server} is mounted: ${path}`);
  return path;
}

function portOf(pod: KubernetesObject): number {
  const container = listAt(pod, 'spec', 'containers').find((one) => textAt(one, 'name') === CONTAINER);
  const port = listAt(container, 'ports').find((one) => textAt(one, 'name') === PORT_NAME);
  return numberAt(port, 'containerPort') ?? DEFAULT_PORT;
}

function hostOf(adapter: KubernetesObject): string | undefined {
  const url = textAt(adapter, 'status', 'url');
  return url !== undefined && URL.canParse(url) ? new URL(url).host : undefined;
}

/** Texts as they are; of anything else, what it is. */
function resultText(result: Readonly<Record<string, unknown>>): string {
  const blocks = listAt(result, 'content').map((block) => {
    const text = textAt(block, 'text');
    // Line ends of a text are its own.
    if (text !== undefined) return text.split('\n').map(visible).join('\n');
    return visible(
      `[${textAt(block, 'type') ?? 'unknown'} ${textAt(block, 'uri') ?? textAt(block, 'mimeType') ?? ''}]`,
    );
  });
  if (blocks.length === 0) throw new UnreachableError('the answer is no result of a tool');
  return blocks.join('\n');
}
