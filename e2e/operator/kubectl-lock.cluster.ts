import { describe, expect } from 'vitest';
import { parse } from 'yaml';
import { at } from '../cluster/kubectl.ts';
import { test } from '../cluster/test.ts';
import { demoIn } from './kit/demo.ts';
import { newAccount, plugin } from './kit/plugin.ts';
import { rulesOf, withItsRole } from './kit/with-its-role.ts';

const READY_MS = 120_000;
const OTHER = `sha256:${'0'.repeat(64)}`;

describe('kubectl mcpadapter lock, as somebody who may do just what its page says', () => {
  test('creates a lock, shows what differs, and approves it', { timeout: 600_000 }, async ({ operated }) => {
    await using namespace = await operated.namespace('plugin-lock');
    const where = { namespace: namespace.name, timeoutMs: READY_MS };
    await demoIn(operated, namespace.name);
    await using person = await newAccount(operated, namespace.name);
    const lock = () => operated.get('mcptoollock', 'demo', namespace.name);

    await person.may(rulesOf('lock diff'));
    expect(await plugin(person.kubeconfig, ['lock', 'diff', 'demo'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('names the McpAdapter demo'),
    });
    const printed = await plugin(person.kubeconfig, ['lock', 'create', 'demo', '--dry-run=client', '-o', 'yaml']);
    expect(printed).toMatchObject({ code: 0, stderr: '' });
    expect(Object.keys(at(parse(printed.stdout), 'spec', 'servers', 'demo', 'tools') as object)).toHaveLength(7);
    expect(await lock()).toBeUndefined();
    expect(await withItsRole(person, 'lock create', ['demo'])).toMatchObject({ code: 0, stderr: '' });
    expect(at(await lock(), 'spec')).toEqual({
      ...(at(parse(printed.stdout), 'spec') as object),
      mode: 'enforce',
      newTools: 'hide',
    });
    await operated.waitForCondition('mcptoollock', 'demo', 'Ready', 'True', where);
    expect(await plugin(person.kubeconfig, ['lock', 'create', 'demo'])).toMatchObject({ code: 1 });
    expect(await withItsRole(person, 'lock diff', ['demo'])).toEqual({ code: 0, stdout: '', stderr: '' });

    // Somebody has called, so that the pod has a list; then it is not what was approved.
    await person.may(rulesOf('call'));
    const call = () => plugin(person.kubeconfig, ['call', 'demo', 'demo', 'word_count', '{"text":"hello world"}']);
    expect(await call()).toMatchObject({ code: 0 });
    const drifted = { word_count: { digest: OTHER, fields: { description: OTHER } } };
    const patch = JSON.stringify({ spec: { servers: { demo: { tools: drifted } } } });
    await operated.run('patch', 'mcptoollock', 'demo', '-n', namespace.name, '--type=merge', '-p', patch);
    const differing = await operated.waitForCondition('mcpadapter', 'demo', 'ToolsMatchLock', 'False', where);
    expect(JSON.stringify(at(differing, 'status', 'conditions'))).toMatch(/word_count[^"]*description/);
    expect(await call()).toMatchObject({ code: 1, stderr: expect.stringContaining('not what was approved') });

    await person.may(rulesOf('lock diff'));
    const diff = await plugin(person.kubeconfig, ['lock', 'diff', 'demo']);
    expect(diff).toMatchObject({ code: 1, stdout: expect.stringMatching(/~ tool word_count\n {6}description/) });
    const json = await plugin(person.kubeconfig, ['lock', 'diff', 'demo', '-o', 'json']);
    expect(json.code).toBe(1);
    expect(at(JSON.parse(json.stdout), 'changes')).toMatchObject([{ server: 'demo', name: 'word_count' }]);

    // Without a right to write, a manifest for Git.
    const generation = at(await lock(), 'metadata', 'generation');
    const forGit = await plugin(person.kubeconfig, ['lock', 'approve', 'demo', '--dry-run=client', '-o', 'json']);
    expect(forGit.code).toBe(0);
    expect(JSON.parse(forGit.stdout)).toMatchObject({ kind: 'McpToolLock', metadata: { name: 'demo' } });
    expect(at(await lock(), 'metadata', 'generation')).toBe(generation);
    await person.may(rulesOf('lock approve'));
    expect(await plugin(person.kubeconfig, ['lock', 'approve', 'demo', 'fetch_no_such'])).toMatchObject({ code: 2 });

    expect(await withItsRole(person, 'lock approve', ['demo', 'demo/word_count'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('approved: demo/tools/word_count'),
    });
    // Nobody lists: what the pod was told last is compared with the lock that comes.
    await operated.waitForCondition('mcpadapter', 'demo', 'ToolsMatchLock', 'True', where);
    await person.may(rulesOf('call'));
    expect(await call()).toMatchObject({ code: 0 });
    expect(JSON.parse(forGit.stdout)).toMatchObject({ spec: { servers: at(await lock(), 'spec', 'servers') } });
    await person.may(rulesOf('lock approve'));
    expect(await plugin(person.kubeconfig, ['lock', 'approve', 'demo'])).toMatchObject({
      code: 0,
      stdout: 'McpToolLock demo stays as it is\n',
    });
  });
});
