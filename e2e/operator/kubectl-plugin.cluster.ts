import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { parse } from 'yaml';
import { COMMANDS } from '../../operator/plugin/commands.ts';
import { at } from '../cluster/kubectl.ts';
import { test } from '../cluster/test.ts';
import { newAccount, plugin, withoutEach } from './kit/plugin.ts';

const EXAMPLES = join(import.meta.dirname, '../../examples');
const READY_MS = 180_000;

describe('kubectl mcpadapter, as somebody who may do just what its page says', () => {
  test('status: one page with what pods say', async ({ operated }) => {
    await using namespace = await operated.namespace('plugin');
    const where = { namespace: namespace.name, timeoutMs: READY_MS };
    await operated.run('apply', '-n', namespace.name, '-f', join(EXAMPLES, 'mcp-adapter.yaml'));
    await operated.waitForCondition('mcpadapter', 'demo', 'Ready', 'True', where);
    await operated.waitForCondition('mcpadapter', 'demo', 'UpstreamsHealthy', 'True', where);
    await using person = await newAccount(operated, namespace.name);

    const { rules } = COMMANDS['status'] ?? { rules: [] };
    await person.may(rules);
    const page = await plugin(person.kubeconfig, ['status', 'demo', '-o', 'yaml']);
    expect(page).toMatchObject({ code: 0, stderr: '' });
    const said: unknown = parse(page.stdout);
    expect(at(said, 'pods')).toEqual([
      expect.objectContaining({ ready: true, version: '0.1.0', limits_hit: 0, not_ready: null, error: null }),
    ]);
    expect(at(said, 'upstreams')).toEqual([
      expect.objectContaining({ server: 'demo', status: 'ok', breaker: 'closed', tools: expect.any(Number) }),
    ]);
    expect(at(said, 'config_hash')).toBe(at(said, 'pods', 0, 'config_hash'));
    const list = await plugin(person.kubeconfig, ['status']);
    expect(list).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^KIND.*\nMcpAdapter +demo +True +1\/1 +1\/1/),
    });

    for (const { lost, rest } of withoutEach(rules)) {
      await person.may(rest);
      const args = lost.verbs[0] === 'list' && lost.resources[0] !== 'pods' ? ['status'] : ['status', 'demo'];
      const refused = await plugin(person.kubeconfig, args);
      const [verb, resource] = [lost.verbs[0], lost.resources[0]];
      expect({ lost, ...refused }).toMatchObject({
        code: 3,
        stderr: expect.stringContaining(`cannot ${verb} resource "${resource}"`),
      });
    }
  });
});
