import { writeFile } from 'node:fs/promises';

import { escapeLine } from '../../../lib/redaction/escape-line.ts';
import { API_SCRAPE_SOURCES, EVENTS, MCP_ADAPTERS, PODS } from '../../kubernetes/resources.ts';
import type { KubernetesObject } from '../../kubernetes/kubernetes.ts';
import { listAt, numberAt, textAt } from '../../kubernetes/unstructured.ts';
import { queryOf } from '../../kubernetes/api-paths.ts';
import { ADAPTER_LABEL } from '../../mcp-adapter/config/labels.ts';
import { GROUP_LABEL } from '../../scrape-group/group/names.ts';
import type { Cluster } from '../cluster/connect.ts';
import { askAdapter, isRunning } from '../cluster/program-pods.ts';
import { sourceStatuses } from '../cluster/source-pods.ts';
import { zip, type ZipEntry } from '../output/zip.ts';
import { namesOf, readClusterArgs, type Run, whereOf } from './command.ts';
import { Redactor } from './report/redacted.ts';

/** More pods than these tell the same. */
const MOST_PODS = 50;
const LOG_LINES = 5_000;
const LOG_BYTES = 5 << 20;
const MOST_EVENTS = 1_000;

export const run: Run = async (args, { connect, streams, version, signal }) => {
  const { values, positionals } = readClusterArgs(args, { file: { type: 'string', short: 'f' } });
  namesOf(positionals, [], 0);
  const now = new Date();
  const file = values.file ?? `mcpadapter-report-${now.toISOString().slice(0, 19).replaceAll(/[:T]/g, '-')}.zip`;
  await using cluster = await connect(whereOf(values));
  const { api, namespace } = cluster;
  const redactor = new Redactor();
  const entries: ZipEntry[] = [];
  const missing: string[] = [];
  const add = (name: string, content: unknown): void => {
    const text = typeof content === 'string' ? content : `${JSON.stringify(content, undefined, 2)}\n`;
    entries.push({ name, content: text });
  };
  // What somebody may not see, or what does not answer, is said and left out.
  const tried = async <T>(what: string, ask: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await ask();
    } catch (error) {
      signal.throwIfAborted();
      missing.push(`${what}: ${(error as Error).message}`);
      return undefined;
    }
  };
  const listed = async (resource: typeof PODS, labelSelector?: string): Promise<readonly KubernetesObject[]> =>
    (
      await tried(resource.plural, () =>
        api.list(resource, { namespace, ...(labelSelector && { labelSelector }) }, signal),
      )
    )?.items ?? [];
  const [adapters, sources] = [await listed(MCP_ADAPTERS), await listed(API_SCRAPE_SOURCES)];
  for (const one of [...adapters, ...sources]) {
    add(`resources/${one.kind}-${one.metadata.name}.json`, redactor.resource(one));
  }
  const pods = [...(await listed(PODS, ADAPTER_LABEL)), ...(await listed(PODS, GROUP_LABEL))].slice(0, MOST_PODS);
  for (const pod of pods) {
    const { name } = pod.metadata;
    add(`pods/${name}/pod.json`, podFields(pod));
    if (isRunning(pod) && pod.metadata.labels?.[ADAPTER_LABEL] !== undefined) {
      const said = await tried(`status of ${name}`, () => askAdapter(cluster, pod, 'GET', '/v1/status'));
      if (said !== undefined) add(`pods/${name}/status.json`, said);
    }
    if (isRunning(pod) && pod.metadata.labels?.[GROUP_LABEL] !== undefined) {
      const said = await tried(`sources of ${name}`, () => sourceStatuses(cluster, pod));
      if (said !== undefined) add(`pods/${name}/sources.json`, said);
    }
    for (const container of listAt(pod, 'spec', 'containers').flatMap((one) => textAt(one, 'name') ?? [])) {
      // What others write beside our programs nobody has redacted.
      if (container !== 'adapter' && container !== 'scraper') continue;
      const log = await tried(`log of ${name}`, () => logOf(cluster, name, container, signal));
      if (log !== undefined) add(`pods/${name}/${container}.log`, log);
    }
  }
  const events = await listed(EVENTS);
  add(
    'events.json',
    events
      .filter(isOurs(new Set([...adapters, ...sources, ...pods].map(({ metadata }) => metadata.name))))
      .slice(0, MOST_EVENTS)
      .map(eventFields),
  );
  add('report.json', { version, at: now.toISOString(), namespace, missing });
  const { scrub } = redactor;
  const clean = entries.map(({ name, content }) => ({ name, content: scrub(content) }));
  // Its owner alone may read it.
  await writeFile(file, zip(clean, now), { flag: 'wx', mode: 0o600 });
  streams.out(`${file}: ${clean.length} files`);
  for (const one of missing) streams.err(`left out: ${one}`);
  return missing.length === 0 ? 0 : 3;
};

function podFields(pod: KubernetesObject): object {
  const containers = listAt(pod, 'spec', 'containers').map((one) => ({
    name: textAt(one, 'name'),
    image: textAt(one, 'image'),
  }));
  const states = [...listAt(pod, 'status', 'containerStatuses'), ...listAt(pod, 'status', 'initContainerStatuses')].map(
    (one) => ({
      name: textAt(one, 'name'),
      restarts: numberAt(one, 'restartCount'),
      waiting: textAt(one, 'state', 'waiting', 'reason'),
      ended: textAt(one, 'lastState', 'terminated', 'reason'),
      exitCode: numberAt(one, 'lastState', 'terminated', 'exitCode'),
    }),
  );
  const conditions = listAt(pod, 'status', 'conditions').map((one) => ({
    type: textAt(one, 'type'),
    status: textAt(one, 'status'),
    reason: textAt(one, 'reason'),
  }));
  const { name, annotations } = pod.metadata;
  const own = Object.entries(annotations ?? {}).filter(([key]) => key.startsWith('mcpadapter.io/'));
  const phase = textAt(pod, 'status', 'phase');
  return {
    name,
    phase,
    node: textAt(pod, 'spec', 'nodeName'),
    annotations: Object.fromEntries(own),
    containers,
    states,
    conditions,
  };
}

const isOurs =
  (names: ReadonlySet<string>) =>
  (event: KubernetesObject): boolean =>
    names.has(textAt(event, 'regarding', 'name') ?? '');

const eventFields = (event: KubernetesObject): object => ({
  time: textAt(event, 'eventTime') ?? textAt(event, 'deprecatedLastTimestamp'),
  kind: textAt(event, 'regarding', 'kind'),
  name: textAt(event, 'regarding', 'name'),
  type: textAt(event, 'type'),
  reason: textAt(event, 'reason'),
  note: textAt(event, 'note'),
});

async function logOf({ transport, namespace }: Cluster, pod: string, container: string, signal: AbortSignal) {
  const part = (text: string): string => encodeURIComponent(text);
  const query = queryOf({ container, tailLines: LOG_LINES, limitBytes: LOG_BYTES });
  const path = `/api/v1/namespaces/${part(namespace)}/pods/${part(pod)}/log${query}`;
  const parts: Uint8Array[] = [];
  for await (const chunk of transport.stream({ method: 'GET', path, signal })) parts.push(chunk);
  return Buffer.concat(parts).toString('utf8').split('\n').map(escapeLine).join('\n');
}
