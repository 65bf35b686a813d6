import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';

import { lockCommand } from '../../operator/local/lock-command.ts';
import { startProcess } from '../support/processes.ts';
import { asObject } from '../support/scripted-upstream/json-rpc.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream/scripted-upstream.ts';

const MAIN = join(import.meta.dirname, '../../operator/main.ts');
const LIMIT_MS = 60_000;
const KEY = 'key-of-the-upstreams';

let folder: string;
let resources: string;
let upstream: ScriptedUpstream;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'operator-lock-'));
  resources = join(folder, 'resources');
  await mkdir(resources);
  await mkdir(join(folder, 'tmp'));
  upstream = await startScriptedUpstream();
  upstream.behavior.intercept = ({ headers }) =>
    headers['x-key'] === KEY ? undefined : { status: 401, body: `no ${KEY}` };
  await write('adapter.yaml', adapter('files'));
  await write('secret.yaml', {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'upstreams', namespace: 'tools' },
    stringData: { key: KEY },
  });
});
afterEach(async () => {
  await upstream?.close();
  await rm(folder, { recursive: true, force: true });
});

const adapter = (name: string) => ({
  apiVersion: 'mcpadapter.io/v1alpha1',
  kind: 'McpAdapter',
  metadata: { name, namespace: 'tools' },
  spec: {
    config: {
      servers: [
        {
          id: 'up',
          mount_path: '/up',
          upstream: { url: upstream.url, static_headers: { 'X-Key': '${UPSTREAM_KEY}' } },
        },
      ],
    },
    env: [{ name: 'UPSTREAM_KEY', valueFrom: { secretKeyRef: { name: 'upstreams', key: 'key' } } }],
    // What a sidecar needs is not needed to ask the servers.
    podOverlay: {
      spec: {
        containers: [
          { name: 'sidecar', image: 'x', env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'b', key: 'c' } } }] },
        ],
      },
    },
  },
});
const write = (name: string, resource: object) => writeFile(join(resources, name), stringify(resource));

async function run(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const temporary = join(folder, 'tmp');
  const running = startProcess(process.execPath, [MAIN, 'lock', ...args], { ...env, TMPDIR: temporary });
  const exit = await running.exitsWithin(LIMIT_MS);
  if (exit === undefined) running.kill();
  const [stdout, stderr] = [running.stdout(), running.stderr()];
  expect(stdout + stderr).not.toContain(KEY);
  // Nothing of the configuration is left.
  expect((await readdir(temporary)).filter((name) => name.startsWith('mcp-operator'))).toEqual([]);
  return { code: exit?.code ?? null, stdout, stderr };
}

/** What comes to no program of its own needs no process. */
async function refused(args: readonly string[]) {
  const lines: string[] = [];
  const streams = { out: (line: string) => void lines.push(line), err: (line: string) => void lines.push(line) };
  const code = await lockCommand(args, {}, streams, AbortSignal.timeout(LIMIT_MS));
  const stderr = lines.join('\n');
  expect(stderr).not.toContain(KEY);
  return { code, stderr };
}

test('a McpToolLock is made, compared and approved from files alone', async () => {
  const lock = join(resources, 'lock.yaml');
  const made = await run(['create', '-f', resources, '--output', lock]);
  expect([made.code, made.stderr]).toEqual([0, '']);
  const manifest = asObject(parse(await readFile(lock, 'utf8')));
  expect(manifest).toMatchObject({
    apiVersion: 'mcpadapter.io/v1alpha1',
    kind: 'McpToolLock',
    metadata: { name: 'files', namespace: 'tools' },
    spec: { adapterRef: { name: 'files' }, mode: 'enforce', servers: { up: { tools: { echo: {} } } } },
  });
  expect(await run(['diff', '-f', resources])).toEqual({ code: 0, stdout: '', stderr: '' });

  upstream.tools.delete('echo');
  const report = await run(['diff', '-f', resources, '-o', 'sarif']);
  expect(report.code).toBe(1);
  const { runs } = JSON.parse(report.stdout) as { runs: { results: object[] }[] };
  expect(runs[0]?.results).toMatchObject([
    {
      ruleId: 'definition-removed',
      locations: [
        { physicalLocation: { artifactLocation: { uri: lock }, region: { startLine: expect.any(Number) as number } } },
      ],
    },
  ]);
  const approved = await run(['approve', '-f', resources, 'up/echo']);
  expect([approved.code, approved.stderr]).toEqual([0, 'approved: up/tools/echo (removed)\n']);
  const after = asObject(parse(await readFile(lock, 'utf8')));
  expect(after.metadata).toEqual(manifest.metadata);
  expect((await run(['diff', '-f', resources, '--lock', lock])).code).toBe(0);
});

test('a server that does not answer: 3', async () => {
  await upstream.close();
  const { code, stderr } = await run(['create', '-f', resources]);
  expect([code, stderr]).toEqual([3, expect.stringMatching(/^up did not say what it has: not reached: connect ECONN/)]);
});

test('wrong use, and files that cannot be used: 2', async () => {
  const asked = upstream.requests.length;
  for (const [args, message] of [
    [['diff', '-f', resources], 'the files have no McpToolLock of files: give one, or --lock FILE'],
    [['diff'], 'which files?'],
    [['-f', resources], 'one of create, diff, approve is wanted'],
    [['create', '-f', resources, '--adapter', 'x'], 'the files have no McpAdapter x'],
  ] as const) {
    const { code, stderr } = await refused(args);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  }
  await write('second.yaml', adapter('other'));
  expect((await refused(['create', '-f', resources])).stderr).toContain('2 McpAdapters: which? Give --adapter NAME');
  await rm(join(resources, 'second.yaml'));
  await rm(join(resources, 'secret.yaml'));
  const unset = await refused(['create', '-f', resources]);
  expect([unset.code, unset.stderr]).toEqual([2, expect.stringContaining('or set UPSTREAM_KEY in the environment')]);
  expect(upstream.requests.length).toBe(asked);
  expect((await run(['create', '-f', resources], { UPSTREAM_KEY: KEY })).code).toBe(0);
  const anywhere = adapter('files');
  await write('adapter.yaml', { ...anywhere, metadata: { name: 'files' } });
  const { stdout } = await run(['create', '-f', resources], { UPSTREAM_KEY: KEY });
  expect(asObject(parse(stdout)).metadata).toEqual({ name: 'files' });

  const wrong = adapter('files');
  await write('adapter.yaml', { ...wrong, spec: { ...wrong.spec, replicas: 'two' } });
  const invalid = await refused(['create', '-f', resources]);
  expect([invalid.code, invalid.stderr]).toEqual([2, expect.stringMatching(/adapter\.yaml:\d+:\d+: spec\.replicas/)]);
});
