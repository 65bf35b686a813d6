import { join } from 'node:path';
import type { Cluster } from '../../cluster/cluster.ts';
import { at } from '../../cluster/kubectl.ts';

const EXAMPLES = join(import.meta.dirname, '../../../examples');
const READY_MS = 180_000;

/** The example, once it serves: the address of its pod, and its name. */
export async function demoIn(
  cluster: Cluster,
  namespace: string,
): Promise<{ readonly url: string; readonly pod: string }> {
  const where = { namespace, timeoutMs: READY_MS };
  await cluster.run('apply', '-n', namespace, '-f', join(EXAMPLES, 'mcp-adapter.yaml'));
  await cluster.waitForCondition('mcpadapter', 'demo', 'Ready', 'True', where);
  await cluster.waitForCondition('mcpadapter', 'demo', 'UpstreamsHealthy', 'True', where);
  const [pod] = await cluster.list('pod', namespace, 'mcpadapter.io/adapter=demo');
  return { url: `http://${String(at(pod, 'status', 'podIP'))}:8932`, pod: String(pod?.metadata.name) };
}
