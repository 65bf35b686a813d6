import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect } from 'vitest';
import type { Cluster } from '../cluster/cluster.ts';
import { at, type Live } from '../cluster/kubectl.ts';
import { test } from '../cluster/test.ts';
import { newAccount, plugin } from './kit/plugin.ts';
import { adapter, onRedis, redis, shared, upstream } from './kit/resources.ts';
import { rulesOf, withItsRole } from './kit/with-its-role.ts';

const MAIN = join(import.meta.dirname, '../../operator/plugin/main.ts');
const READY_MS = 240_000;
const TEST_MS = 900_000;
const TOKEN = 'plugin-fleet-token-0c5d';

const ACCESS = {
  default: 'allow',
  rules: [{ effect: 'deny', principals: ['token:ci'], tools: ['word_*'] }],
};

/** Two replicas that share a Redis, where the token `ci` may not count words. */
async function fleetIn(cluster: Cluster, namespace: string): Promise<void> {
  const auth = { enabled: true, tokens: [{ name: 'ci', token: '${CI_TOKEN}' }] };
  const config = { core: { log_level: 'info', auth, access: ACCESS }, ...onRedis('redis') };
  const env = [{ name: 'CI_TOKEN', valueFrom: { secretKeyRef: { name: 'tokens', key: 'ci' } } }];
  const tokens = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'tokens' }, stringData: { ci: TOKEN } };
  const all = [tokens, ...redis('redis'), ...upstream('upstream'), adapter('fleet', { ...shared(2), env }, config)];
  await cluster.apply(all, '-n', namespace);
  await cluster.waitForCondition('mcpadapter', 'fleet', 'Ready', 'True', { namespace, timeoutMs: READY_MS });
}

const podsOf = (cluster: Cluster, namespace: string): Promise<Live[]> =>
  cluster.list('pod', namespace, 'mcpadapter.io/adapter=fleet');

/** One request to each pod. @returns their ids */
async function askEach(pods: readonly Live[]): Promise<string[]> {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'x-mcp-adapter-auth-token': TOKEN,
  };
  const asking = pods.map(async (pod) => {
    const url = `http://${String(at(pod, 'status', 'podIP'))}:8932/mcp/demo`;
    const answer = await fetch(url, { method: 'POST', headers, body, signal: AbortSignal.timeout(20_000) });
    expect(answer.status).toBe(200);
    await answer.text();
    return answer.headers.get('x-request-id') ?? '';
  });
  return await Promise.all(asking);
}

describe('kubectl mcpadapter with several pods', () => {
  test(
    'follows all logs, looks with others’ eyes, and drains pod by pod',
    { timeout: TEST_MS },
    async ({ operated }) => {
      await using namespace = await operated.namespace('plugin-fleet');
      await fleetIn(operated, namespace.name);
      await using person = await newAccount(operated, namespace.name);
      const before = await podsOf(operated, namespace.name);
      expect(before).toHaveLength(2);

      // Of all pods, one log; Ctrl-C ends it well.
      await person.may(rulesOf('logs'));
      const env = { PATH: process.env['PATH'], KUBECONFIG: person.kubeconfig };
      const following = spawn(process.execPath, [MAIN, 'logs', 'fleet', '-f', '--tail', '0', '-o', 'json'], { env });
      const ended = once(following, 'exit');
      const asked = new Set<string>();
      const seen = new Map<string, string>();
      const bothSeen = Promise.withResolvers<void>();
      createInterface(following.stdout).on('line', (line) => {
        const { pod, request_id: id = '' } = JSON.parse(line) as { readonly pod: string; readonly request_id?: string };
        if (asked.has(id)) seen.set(id, pod);
        if (new Set(seen.values()).size === 2) bothSeen.resolve();
      });
      // Nothing tells when both logs are open.
      const ask = (): void => void askEach(before).then((ids) => ids.forEach((id) => asked.add(id)), bothSeen.reject);
      const asking = setInterval(ask, 1_000);
      try {
        await bothSeen.promise;
      } finally {
        clearInterval(asking);
        following.kill('SIGINT');
      }
      expect(await ended).toEqual([0, null]);
      expect(new Set(seen.values())).toEqual(new Set(before.map(({ metadata }) => metadata.name)));

      // As the token sees it, and as others do.
      const ci = await withItsRole(person, 'tools', ['fleet', '--principal', 'token:ci', '--hidden', '-o', 'json']);
      expect(ci.code).toBe(0);
      expect(at(JSON.parse(ci.stdout), 'servers', 0, 'tools')).toMatchObject([
        { name: 'word_count', seen: 'hidden', why: 'access: rules[0]' },
      ]);
      const other = await plugin(person.kubeconfig, ['tools', 'fleet', '--principal', 'user:ann', '--hidden']);
      expect(other).toMatchObject({ code: 0, stdout: 'No tools.\n' });
      expect(await plugin(person.kubeconfig, ['tools', 'fleet', '--principal', 'ann'])).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('principal must be user:SUBJECT'),
      });

      // One after the other: never fewer than both serve when the next is taken.
      const drained = await withItsRole(person, 'drain', ['fleet']);
      expect(drained).toMatchObject({ code: 0, stderr: '' });
      const names = before.map(({ metadata }) => metadata.name);
      expect(drained.stdout.trim().split('\n')).toEqual(
        names
          .toSorted()
          .flatMap((name) => [
            `pod ${name} drains: it opens no sessions, and its running calls end`,
            `pod ${name} has gone, and 2 serve`,
          ]),
      );
      const after = await podsOf(operated, namespace.name);
      expect(after.filter(({ metadata }) => before.some((one) => one.metadata.uid === metadata.uid))).toEqual([]);
      // One of them alone, and nobody waits.
      const [first] = after;
      const alone = await plugin(person.kubeconfig, ['drain', 'fleet', String(first?.metadata.name), '--no-wait']);
      expect(alone).toMatchObject({ code: 0, stdout: expect.stringMatching(/^pod \S+ drains: [^\n]+\n$/) });
      expect(await plugin(person.kubeconfig, ['drain', 'fleet', '--no-wait'])).toMatchObject({ code: 2 });
    },
  );
});
