import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { describe, expect } from 'vitest';
import type { Cluster } from '../cluster/cluster.ts';
import { at, type Live, type Wait } from '../cluster/kubectl.ts';
import { test } from '../cluster/test.ts';
import { openRawClient } from '../support/raw-client.ts';
import { secret } from '../support/secrets/secret.ts';

const EXAMPLE = join(import.meta.dirname, '../../examples/mcp-adapter.yaml');
const READY_MS = 180_000;
/** The kubelet may take more than a minute to bring a change to the files of a pod. */
const ROLLED_MS = 240_000;
const HEADER = 'X-Token';
const TOKENS = [secret('first token'), secret('second token'), secret('third token')] as const;

describe('an adapter whose token comes from a Secret', () => {
  test(
    'gets new pods once for each change of the Secret, and nobody but the pods knows a token',
    { timeout: 600_000 },
    async ({ operated }) => {
      await using namespace = await operated.namespace('references');
      const where = { namespace: namespace.name, timeoutMs: READY_MS };
      await setToken(operated, namespace.name, TOKENS[0]);
      await operated.apply(await adapterWithToken(), '-n', namespace.name);
      await operated.waitForCondition('mcpadapter', 'demo', 'UpstreamsHealthy', 'True', where);
      const url = `${await operated.nodePortUrl('demo', namespace.name)}/mcp/demo`;
      await expectOnly(url, TOKENS[0]);

      // A change of what no variable refers to is none.
      await operated.run('label', 'secret', 'demo-token', 'team=a', '-n', namespace.name);
      // The second change also shows that the first one rolled the pods only once.
      for (const [change, token] of TOKENS.slice(1).entries()) {
        const began = Date.now();
        await setToken(operated, namespace.name, token);
        // The kubelet looks after a pod every minute, and at once when the pod itself changes. Once is enough of waiting.
        if (change > 0) await operated.run('annotate', 'pods', '--all', 'look=now', '-n', namespace.name);
        const deployment = await rolled(operated, String(change + 1), { ...where, timeoutMs: ROLLED_MS });
        console.log(`new pods ${Math.round((Date.now() - began) / 1_000)} s after the change of the Secret`);
        expect(at(deployment, 'metadata', 'annotations', 'deployment.kubernetes.io/revision')).toBe(`${change + 2}`);
        await operated.waitForCondition('mcpadapter', 'demo', 'UpstreamsHealthy', 'True', where);
        await expectOnly(url, token);
      }
      expect(await operated.list('replicaset', namespace.name)).toHaveLength(TOKENS.length);
      await expectNoToken(operated, namespace.name);
    },
  );
});

async function adapterWithToken(): Promise<object> {
  const example = parse(await readFile(EXAMPLE, 'utf8')) as { spec: { config: { core: object } } };
  const auth = { enabled: true, header_name: HEADER, token: '${TOKEN}' };
  const config = { ...example.spec.config, core: { ...example.spec.config.core, auth } };
  const env = [{ name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'demo-token', key: 'token' } } }];
  return { ...example, spec: { ...example.spec, config, env, service: { type: 'NodePort' } } };
}

async function setToken(cluster: Cluster, namespace: string, token: string): Promise<void> {
  const metadata = { name: 'demo-token', namespace };
  await cluster.apply({ apiVersion: 'v1', kind: 'Secret', metadata, stringData: { token } });
}

/** The Deployment, once all its pods are of this revision of what they refer to. */
async function rolled(cluster: Cluster, revision: string, wait: Wait): Promise<Live> {
  const annotation = (object: Live | undefined): unknown =>
    at(object, 'spec', 'template', 'metadata', 'annotations', 'mcpadapter.io/references-revision');
  await cluster.waitFor('deployment', 'demo', (object) => annotation(object) === revision, wait);
  return await cluster.waitForRollout('demo', wait);
}

/** The Service may send requests elsewhere for a moment after the pods are ready. */
async function expectOnly(url: string, right: string): Promise<void> {
  const call = async (token: string): Promise<unknown> => {
    const client = await openRawClient(url, { headers: { [HEADER]: token } });
    const message = await client.callTool('word_count', { text: 'a b' });
    return at(message, 'result', 'structuredContent', 'words');
  };
  await expect.poll(() => call(right).catch(String), { timeout: 60_000, interval: 200 }).toBe(2);
  for (const wrong of TOKENS.filter((token) => token !== right)) await expect(call(wrong)).rejects.toThrow(/401/);
}

/** Whatever form it has, no object but the Secret holds a token. */
async function expectNoToken(cluster: Cluster, namespace: string): Promise<void> {
  const kinds = 'deployments,replicasets,pods,configmaps,events,mcpadapters,services';
  const everything = await cluster.run('get', kinds, '-n', namespace, '-o', 'json', '--show-managed-fields');
  for (const token of TOKENS) {
    for (const form of ['hex', 'base64'] as const) {
      expect(everything).not.toContain(Buffer.from(token).toString(form));
      for (const algorithm of ['sha256', 'sha1', 'md5']) {
        expect(everything).not.toContain(createHash(algorithm).update(token).digest(form).slice(0, 16));
      }
    }
    expect(everything).not.toContain(token);
  }
}
