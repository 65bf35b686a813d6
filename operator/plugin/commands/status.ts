import { sideBySide } from '../../../lib/side-by-side.ts';
import { API_SCRAPE_SOURCES, MCP_ADAPTERS } from '../../kubernetes/resources.ts';
import type { KubernetesObject } from '../../kubernetes/kubernetes.ts';
import type { Cluster } from '../cluster/connect.ts';
import { adapterOf, adapterPods, askAdapter, isRunning } from '../cluster/program-pods.ts';
import { groupPods, sourceOf, sourceStatusIn } from '../cluster/source-pods.ts';
import { printed } from '../output/printed.ts';
import { formatOf, namesOf, readClusterArgs, type Run, whereOf } from './command.ts';
import { targetOf } from './target.ts';
import { conditionStatus, isHealthy, overview, overviewText } from './status/overview.ts';
import { sourcePage, sourceText } from './status/source-page.ts';
import { adapterPage, adapterText, type PodSaid } from './status/adapter-page.ts';

/** Pods that are asked at the same time; each takes a connection to the API server. */
const AT_ONCE = 8;

export const run: Run = async (args, { connect, streams }) => {
  const { values, positionals } = readClusterArgs(args, { 'all-namespaces': { type: 'boolean', short: 'A' } });
  const [name] = namesOf(positionals, ['McpAdapter or source/NAME'], 0);
  const format = formatOf(values);
  await using cluster = await connect(whereOf(values));
  if (name === undefined) {
    const all = values['all-namespaces'] === true;
    const items = await resourcesOf(cluster, all ? undefined : cluster.namespace);
    const rows = items.map(overview);
    streams.out(printed(format, { items: rows }, (isWide) => overviewText(rows, { all, isWide })));
    return rows.every(isHealthy) ? 0 : 1;
  }
  const target = targetOf(name);
  if (target.resource === API_SCRAPE_SOURCES) {
    const source = await sourceOf(cluster, target.name);
    const pods = await groupPods(cluster, source);
    const said = await sideBySide(pods, AT_ONCE, (pod) => askedPod(pod, () => sourceStatusIn(cluster, pod, source)));
    const page = sourcePage(source, said);
    streams.out(printed(format, page, () => sourceText(page)));
    const unreached = page.owner === null ? said.find(({ error }) => error !== undefined) : undefined;
    if (unreached?.error !== undefined) throw unreached.error;
    return isHealthy(overview(source)) ? 0 : 1;
  }
  const adapter = await adapterOf(cluster, target.name);
  const pods = await adapterPods(cluster, target.name);
  const said = await sideBySide(pods, AT_ONCE, (pod) =>
    askedPod(pod, () => askAdapter(cluster, pod, 'GET', '/v1/status')),
  );
  const page = adapterPage(adapter, said, new Date());
  streams.out(printed(format, page, (isWide) => adapterText(page, isWide)));
  const unreached = said.find(({ error }) => error !== undefined);
  if (unreached?.error !== undefined) throw unreached.error;
  return conditionStatus(adapter, 'Ready') === 'True' ? 0 : 1;
};

async function resourcesOf({ api }: Cluster, namespace: string | undefined): Promise<KubernetesObject[]> {
  const selection = namespace === undefined ? {} : { namespace };
  const lists = await Promise.all([api.list(MCP_ADAPTERS, selection), api.list(API_SCRAPE_SOURCES, selection)]);
  return lists.flatMap(({ items }) => items);
}

async function askedPod(pod: KubernetesObject, ask: () => Promise<unknown>): Promise<PodSaid> {
  if (!isRunning(pod)) return { pod };
  try {
    return { pod, said: await ask() };
  } catch (error) {
    // What the API server knows is shown all the same.
    return { pod, error: error as Error };
  }
}
