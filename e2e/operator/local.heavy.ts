import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { type RunningProcess, startProcess } from '../support/processes.ts';
import { secret } from '../support/secrets/secret.ts';

const ROOT = join(import.meta.dirname, '../..');
const EXAMPLE = await readFile(join(ROOT, 'examples/quickstart/mcp-adapter.yaml'), 'utf8');
const START_MS = 30_000;

let folder: string;
let resources: string;
const opened: RunningProcess[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'local-'));
  resources = join(folder, 'resources');
  await mkdir(resources);
});
afterEach(async () => {
  for (const running of opened.splice(0)) await running.stop();
  await rm(folder, { recursive: true, force: true });
});

function operator(...args: string[]): RunningProcess {
  const running = startProcess(process.execPath, [join(ROOT, 'operator/main.ts'), ...args], {
    DATA_DIR: join(folder, 'data'),
  });
  opened.push(running);
  return running;
}

async function run(...args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const running = operator(...args);
  const exit = await running.exitsWithin(START_MS);
  return { code: exit?.code ?? null, stdout: running.stdout(), stderr: running.stderr() };
}

const write = (text: string, name = 'demo.yaml'): Promise<void> => writeFile(join(resources, name), text);

/** The MCP endpoint in the first table row after the `after`-th character that is ready. */
async function readyUrl(running: RunningProcess, after = 0): Promise<string> {
  const ready = /McpAdapter +demo +True +1\/1 +\d+ +(\S+)/;
  const [, url = ''] = await running.waitForStdout(new RegExp(`^[^]{${after},}?${ready.source}`), START_MS);
  return url;
}

async function initialize(url: string): Promise<number> {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
    signal: AbortSignal.timeout(5000),
  });
  await response.text();
  return response.status;
}

describe('mcp-operator local', () => {
  test('runs a resource and its sidecar, applies changes, keeps on after a wrong one, and stops what is gone', async () => {
    await write(EXAMPLE);
    const running = operator('local', resources, '--port', '0');
    const url = await readyUrl(running);
    expect(url).toMatch(/\/mcp\/demo$/);
    expect(await initialize(url)).toBe(200);

    let seen = running.stdout().length;
    await write(EXAMPLE.replace('/mcp/demo', '/mcp/other'));
    await running.waitForStdout(/demo changed/, START_MS);
    const changed = await readyUrl(running, seen);
    // Clients find it where it was.
    expect(changed).toBe(url.replace('/mcp/demo', '/mcp/other'));
    expect(await initialize(changed)).toBe(200);

    await write(EXAMPLE.replace('mount_path:', 'mount_pathh:'));
    await running.waitForStdout(/demo\.yaml:16:\d+: spec\.config\.servers\[0\]\.mount_pathh/, START_MS);
    expect(await initialize(changed)).toBe(200);

    seen = running.stdout().length;
    await rm(join(resources, 'demo.yaml'));
    await running.waitForStdout(/demo is gone/, START_MS);
    await running.waitForStdout(/KIND +NAME[^\n]*\n\n(?![^]*McpAdapter)/, START_MS);
    await expect(initialize(changed)).rejects.toThrow('fetch failed');
    // Retain is the default.
    expect(existsSync(join(folder, 'data/default/demo/volumes/storage/state'))).toBe(true);
    expect(await running.stop()).toEqual({ code: 0, signal: null });
  });

  test('deletes the volumes with the resource where the policy says so', async () => {
    await write(EXAMPLE.replace('spec:\n', 'spec:\n  deletionPolicy: Delete\n'));
    const running = operator('local', resources, '--port', '0');
    await readyUrl(running);
    expect(existsSync(join(folder, 'data/default/demo'))).toBe(true);
    await rm(join(resources, 'demo.yaml'));
    await running.waitForStdout(/KIND +NAME[^\n]*\n\n(?![^]*McpAdapter)/, START_MS);
    expect(existsSync(join(folder, 'data/default/demo'))).toBe(false);
  });

  test('starts a program that ended again, and shows it', async () => {
    const failing = EXAMPLE.replace(/\[mcp-demo-server, [^\]]*\]/, '[mcp-demo-server, --wrong-option]');
    await write(failing);
    const running = operator('local', resources, '--port', '0');
    await running.waitForStdout(/McpAdapter +demo +False +\S* +1 .*upstream ended \(exit code \d+\)/, START_MS);
  });

  test('a secret among the files is a variable; one that is missing is named', async () => {
    const withSecret = EXAMPLE.replace(
      'spec:\n',
      'spec:\n  env: [{name: ADAPTER_TOKEN, valueFrom: {secretKeyRef: {name: token, key: t}}}]\n',
    ).replace('core:\n', 'core:\n      auth: {enabled: true, token: "${ADAPTER_TOKEN}"}\n');
    await write(withSecret);
    const running = operator('local', resources, '--port', '0');
    await running.waitForStdout(
      /variable ADAPTER_TOKEN comes from key t of the Secret token, which is not among/,
      START_MS,
    );
    const token = secret('token in a Secret');
    await write(`apiVersion: v1\nkind: Secret\nmetadata: {name: token}\nstringData: {t: ${token}}\n`, 'secret.yaml');
    const url = await readyUrl(running);
    expect(await initialize(url)).toBe(401);
    expect(running.stdout()).not.toContain(token);
  });

  test('runs the sources of a group in one scraper', async () => {
    const source = (name: string): string => `---
apiVersion: mcpadapter.io/v1alpha1
kind: ApiScrapeSource
metadata: {name: ${name}}
spec:
  group: apis
  scraper: {otelCollectorEndpoint: "http://127.0.0.1:4317"}
  source: {name: ${name}, frequency: 1h, baseUrl: "http://127.0.0.1:1", endpoint: /x, scrape: {type: instant}}
`;
    await write(`${source('a')}${source('b')}`);
    const running = operator('local', resources, '--port', '0');
    const [, url] = await running.waitForStdout(/ScrapeGroup +scraper-apis +True +\S* +0 +(\S+)/, START_MS);
    const health = (await (await fetch(`${url}/healthz`)).json()) as { sources: { name: string }[] };
    expect(health.sources.map(({ name }) => name).toSorted()).toEqual(['a', 'b']);
  });

  test('without anything to run it says so', async () => {
    expect(await run('local', resources)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('nothing to run: the files hold no valid resource'),
    });
  });
});

describe('mcp-operator validate', () => {
  test('names file, line and column of each problem', async () => {
    const file = join(resources, 'demo.yaml');
    await write(EXAMPLE.replace('type: disk', 'type: dsik').replace('mount_path: /mcp/demo', 'mount_path: /'));
    const { code, stderr } = await run('validate', '-f', file);
    expect(code).toBe(1);
    const lines = stderr.trimEnd().split('\n');
    expect(lines).toEqual([
      expect.stringMatching(/demo\.yaml:11:7: spec\.config\.state_persistence\.type .*dsik.*disk/),
      expect.stringMatching(/demo\.yaml:16:9: spec\.config\.servers\[0\]\.mount_path /),
      '1 resource, 2 problems',
    ]);
  });

  test('says which source of a group contradicts another one', async () => {
    const source = (name: string, endpoint: string): object => ({
      apiVersion: 'mcpadapter.io/v1alpha1',
      kind: 'ApiScrapeSource',
      metadata: { name },
      spec: {
        scraper: { otelCollectorEndpoint: endpoint },
        source: { name, frequency: '1h', baseUrl: 'http://127.0.0.1:1', endpoint: '/x', scrape: { type: 'instant' } },
      },
    });
    await write(JSON.stringify(source('a', 'http://one:4317')), 'a.json');
    await write(JSON.stringify(source('b', 'http://two:4317')), 'b.json');
    const { code, stderr } = await run('validate', '-f', resources);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^\S+b\.json:1:\d+: spec .*otelCollectorEndpoint.*\ba\b.*\n2 resources, 1 problem\n$/);
  });

  test.for(['examples', 'examples/quickstart'])('is content with %s', async (path) => {
    expect(await run('validate', '-f', join(ROOT, path))).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\d+ resources?, no problems\n$/),
    });
  });

  test('is not content where there is nothing to look at', async () => {
    await write('');
    for (const path of [resources, join(resources, 'demo.yaml')]) {
      const { code, stderr } = await run('validate', '-f', path);
      expect([code, stderr]).toEqual([1, 'no resource found: -f takes files and folders, but not their subfolders\n']);
    }
    await write('apiVersion: v1\nkind: Secret\nmetadata: {name: other}\n');
    expect(await run('validate', '-f', resources)).toMatchObject({ code: 0, stdout: '1 resource, no problems\n' });
  });

  test.for([[], ['--frobnicate'], ['-f']])('refuses %j', async (args) => {
    const { code, stderr } = await run('validate', ...args);
    expect(code).toBe(2);
    expect(stderr).toContain("Try 'mcp-operator validate --help'.");
  });
});

describe('mcp-operator render', () => {
  test('prints the objects that the cluster would get', async () => {
    await write(EXAMPLE);
    const { code, stdout } = await run('render', '-f', resources, '--image', 'registry.example/mcp:1');
    expect(code).toBe(0);
    const kinds = parseAllDocuments(stdout).map((document) => document.toJS() as { kind: string });
    expect(kinds.map(({ kind }) => kind)).toEqual(
      expect.arrayContaining(['ConfigMap', 'Deployment', 'Service', 'ServiceAccount', 'NetworkPolicy']),
    );
    expect(stdout).toContain('image: registry.example/mcp:1');
  });

  test('prints nothing of an invalid resource, and says what is wrong with it', async () => {
    await write(EXAMPLE.replace('servers:', 'server:'));
    expect(await run('render', '-f', resources)).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('demo.yaml:14:'),
    });
  });
});
