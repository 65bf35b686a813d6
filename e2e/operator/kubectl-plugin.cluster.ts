import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { parse } from 'yaml';
import type { Rule } from '../../operator/plugin/commands/command.ts';
import { at, execute } from '../cluster/kubectl.ts';
import { test } from '../cluster/test.ts';
import { demoIn } from './kit/demo.ts';
import { newAccount, plugin, withoutEach } from './kit/plugin.ts';
import { ofResource, rulesOf, withItsRole } from './kit/with-its-role.ts';

const rpc = (url: string, body: object, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${url}/mcp/demo`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', ...body }),
    signal: AbortSignal.timeout(20_000),
  });

async function openSession(url: string): Promise<string> {
  const clientInfo = { name: 'canary-client\u001B[31m', version: '1' };
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
  const opened = await rpc(url, { id: 1, method: 'initialize', params });
  await opened.text();
  return opened.headers.get('mcp-session-id') ?? '';
}

describe('kubectl mcpadapter, as somebody who may do just what its page says', () => {
  test('looks at an adapter: status, tools, a call, logs', async ({ operated }) => {
    await using namespace = await operated.namespace('plugin');
    const { pod } = await demoIn(operated, namespace.name);
    await using person = await newAccount(operated, namespace.name);

    const lists = ({ verbs, resources: [resource] }: Rule): boolean =>
      resource === 'apiscrapesources' && verbs[0] === 'list';
    const list = await withItsRole(person, 'status', [], lists);
    expect(list).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^KIND.*\nMcpAdapter +demo +True +1\/1 +1\/1/),
    });
    const needed = ({ verbs, resources: [resource = ''] }: Rule): boolean =>
      resource.startsWith('pods') || (resource === 'mcpadapters' && verbs[0] === 'get');
    const page = await withItsRole(person, 'status', ['demo', '-o', 'yaml'], needed);
    expect(page).toMatchObject({ code: 0, stderr: '' });
    const said: unknown = parse(page.stdout);
    expect(at(said, 'pods')).toEqual([
      expect.objectContaining({ ready: true, version: '0.1.0', limits_hit: 0, not_ready: null, error: null }),
    ]);
    expect(at(said, 'upstreams')).toEqual([
      expect.objectContaining({ server: 'demo', status: 'ok', breaker: 'closed', tools: 7 }),
    ]);
    expect(at(said, 'config_hash')).toBe(at(said, 'pods', 0, 'config_hash'));

    const tools = await withItsRole(person, 'tools', ['demo']);
    expect(tools).toMatchObject({ code: 0, stdout: expect.stringMatching(/demo +word_count +listed +upstream/) });

    const call = await withItsRole(person, 'call', ['demo', 'demo', 'word_count', '{"text":"hello world"}']);
    expect(call).toMatchObject({ code: 0, stdout: '2 words, 1 lines, 11 characters\n' });
    expect(await plugin(person.kubeconfig, ['call', 'demo', 'demo', 'no_such_tool'])).toMatchObject({ code: 1 });

    const logs = await withItsRole(person, 'logs', ['demo']);
    expect(logs.code).toBe(0);
    expect(logs.stdout).toMatch(new RegExp(`${pod}.*tool=word_count`));
  });

  test('ends a session and removes a file, and shows no id of them', async ({ operated }) => {
    await using namespace = await operated.namespace('plugin-sessions');
    const { url } = await demoIn(operated, namespace.name);
    await using person = await newAccount(operated, namespace.name);
    const session = await openSession(url);
    const form = new FormData();
    form.append('file', new Blob(['0123456789']), 'ten.txt');
    const upload = await fetch(`${url}/upload/demo`, {
      method: 'POST',
      headers: { 'mcp-session-id': session },
      body: form,
    });
    expect(upload.status).toBe(200);
    await upload.text();

    const files = await withItsRole(person, 'files list', ['demo', '-o', 'json']);
    const sessions = await withItsRole(person, 'sessions list', ['demo', '-o', 'json']);
    expect(files.stdout + sessions.stdout).not.toContain(session);
    const file: unknown = at(JSON.parse(files.stdout), 'files', 0);
    expect(file).toMatchObject({ filename: 'ten.txt', bytes: 10, kind: 'upload', server_id: 'demo' });
    const shown: unknown = at(JSON.parse(sessions.stdout), 'sessions', 0);
    expect(shown).toMatchObject({ kind: 'session', session: at(file, 'session') });
    // What a client calls itself does nothing to a terminal.
    expect(sessions.stdout).toContain('canary-client');
    expect(sessions.stdout).not.toContain('\u001B');

    expect(await withItsRole(person, 'files remove', ['demo', String(at(file, 'file'))])).toMatchObject({ code: 0 });
    await person.may(rulesOf('files list'));
    expect(await plugin(person.kubeconfig, ['files', 'list', 'demo'])).toMatchObject({
      code: 0,
      stdout: 'No files.\n',
    });
    expect(await plugin(person.kubeconfig, ['files', 'remove', 'demo', String(at(file, 'file'))])).toMatchObject({
      code: 1,
    });

    const ping = (): Promise<Response> => rpc(url, { id: 2, method: 'ping' }, { 'mcp-session-id': session });
    expect((await ping()).status).toBe(200);
    expect(await withItsRole(person, 'sessions end', ['demo', String(at(shown, 'session'))])).toMatchObject({
      code: 0,
    });
    const refused = await ping();
    expect(refused.status).toBe(404);
    expect(await refused.text()).toContain('ended by an administrator');
  });

  test('pauses, resumes and restarts', async ({ operated }) => {
    await using namespace = await operated.namespace('plugin-actions');
    await using person = await newAccount(operated, namespace.name);
    // One that asks for no rights beside: admission looks at the whole spec when it changes.
    const upstream = { url: 'http://nobody.example.com/mcp' };
    await operated.apply({
      apiVersion: 'mcpadapter.io/v1alpha1',
      kind: 'McpAdapter',
      metadata: { name: 'plain', namespace: namespace.name },
      spec: { config: { servers: [{ id: 'demo', mount_path: '/demo', upstream }] } },
    });
    const adapter = (): Promise<unknown> => operated.get('mcpadapter', 'plain', namespace.name);
    const ofAdapter = ofResource('mcpadapters');

    expect(await withItsRole(person, 'pause', ['plain'], ofAdapter)).toMatchObject({ code: 0 });
    expect(at(await adapter(), 'spec', 'paused')).toBe(true);
    expect(await withItsRole(person, 'resume', ['plain'], ofAdapter)).toMatchObject({ code: 0 });
    expect(at(await adapter(), 'spec', 'paused')).toBeUndefined();

    expect(await withItsRole(person, 'restart', ['plain'], ofAdapter)).toMatchObject({ code: 0 });
    expect(at(await adapter(), 'metadata', 'annotations', 'mcpadapter.io/restartedAt')).toMatch(/^\d{4}-/);
    // A McpAdapter that is not there is no matter of rights.
    expect(await plugin(person.kubeconfig, ['restart', 'nobody'])).toMatchObject({ code: 1 });
    expect(await withItsRole(person, 'restart', ['source/nobody'], ofResource('apiscrapesources'))).toMatchObject({
      code: 1,
    });
  });

  test('drains: another pod serves before it ends', async ({ operated }) => {
    await using namespace = await operated.namespace('plugin-drain');
    await demoIn(operated, namespace.name);
    await using person = await newAccount(operated, namespace.name);
    const uids = async (): Promise<string[]> =>
      (await operated.list('pod', namespace.name, 'mcpadapter.io/adapter=demo')).map(({ metadata }) => metadata.uid);
    const before = await uids();
    expect(await withItsRole(person, 'drain', ['demo'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('and 1 serve'),
    });
    const drained = await uids();
    expect(drained).toHaveLength(1);
    expect(drained).not.toEqual(before);
  });

  test('reports, and no secret that somebody has written out is in it', async ({ operated }) => {
    await using namespace = await operated.namespace('plugin-report');
    const canary = (name: string): string => `canary-${name}-8d1f6b2e`;
    await demoIn(operated, namespace.name);
    const hostile = {
      apiVersion: 'mcpadapter.io/v1alpha1',
      kind: 'McpAdapter',
      metadata: { name: 'canaries', namespace: namespace.name, annotations: { note: canary('annotation') } },
      spec: {
        env: [{ name: 'PLAIN', value: canary('variable') }],
        config: {
          servers: [
            {
              id: 'one',
              mount_path: '/one',
              upstream: {
                url: `https://user:${canary('password')}@example.com/mcp?api_key=${canary('query')}`,
                static_headers: { 'X-Anything': canary('header'), Authorization: `Bearer ${canary('bearer')}` },
              },
            },
          ],
        },
        podOverlay: { spec: { containers: [{ name: 'x', env: [{ name: 'Y', value: canary('overlay') }] }] } },
      },
    };
    await operated.apply(hostile);
    await operated.waitForCondition('mcpadapter', 'canaries', 'Accepted', 'False', { namespace: namespace.name });
    await using person = await newAccount(operated, namespace.name);
    const folder = await mkdtemp(join(tmpdir(), 'report-'));
    try {
      const file = join(folder, 'it.zip');
      const refused = join(folder, 'refused.zip');
      for (const { lost, rest } of withoutEach(rulesOf('report'))) {
        await person.may(rest);
        const run = await plugin(person.kubeconfig, ['report', '-f', refused]);
        await rm(refused);
        const why = `cannot ${lost.verbs[0]} resource "${lost.resources[0]}"`;
        expect({ lost, ...run }).toMatchObject({ code: 3, stderr: expect.stringContaining(why) });
      }
      await person.may(rulesOf('report'));
      expect(await plugin(person.kubeconfig, ['report', '-f', file])).toMatchObject({ code: 0, stderr: '' });
      await execute('busybox', ['unzip', '-q', file, '-d', join(folder, 'out')]);
      const listed = await execute('find', [join(folder, 'out'), '-type', 'f']);
      const names = listed.trim().split('\n');
      for (const part of ['McpAdapter-canaries.json', 'status.json', 'adapter.log', 'events.json', 'report.json']) {
        expect(names).toContainEqual(expect.stringContaining(part));
      }
      const uid = String((await operated.get('mcpadapter', 'demo', namespace.name))?.metadata.uid);
      for (const name of names) {
        const text = await readFile(name, 'utf8');
        expect({ name, found: /canary-\w+-8d1f6b2e/.exec(text)?.[0], hasKey: text.includes(uid) }).toEqual({
          name,
          hasKey: false,
        });
      }
      // It must not be written over.
      expect(await plugin(person.kubeconfig, ['report', '-f', file])).toMatchObject({ code: 1 });
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
