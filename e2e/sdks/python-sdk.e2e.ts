import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { mounted, startDeployment } from '../adapter/kit/deployment.ts';
import { freePort } from '../support/ports.ts';
import { startProcess } from '../support/processes.ts';
import { cached, missing, runs } from './cached.ts';

const VERSION = '2.3.0';
const PACKAGES = [
  `mcp==${VERSION}`,
  'pytest==8.4.2',
  'inline-snapshot==0.36.1',
  'dirty-equals==0.11',
  'uvicorn==0.54.0',
  'trio==0.35.0',
];
const PLUGINS = fileURLToPath(new URL('.', import.meta.url));
const SUITES = ['tests/interaction/lowlevel', 'tests/interaction/mcpserver'];
const LIMIT_MS = 600_000;

/** Tests of the suite that end differently behind the adapter, and why that is meant. */
const EXCUSED: Readonly<Record<string, string>> = {
  test_next_cursor_round_trips_through_the_client:
    'records each page that the server is asked for; while tools are pinned the adapter reads the whole list as well',
  test_the_client_follows_opaque_cursors_through_pages_of_varying_sizes: 'the same',
  test_prompts_list_supports_cursor_pagination: 'prompts and templates come as one page while they are pinned',
  test_resource_templates_list_supports_cursor_pagination: 'the same',
  test_adding_and_removing_tools_does_not_notify_connected_clients:
    'the server changes its tools and tells nobody, so that the lists of the adapter stay as they were for their time',
};

/** The environment of the SDK and its suite, as published. */
const installed = (): Promise<string> =>
  cached(`python-mcp-${VERSION}-interaction`, async (folder) => {
    await runs('python3', ['-m', 'venv', join(folder, 'venv')]);
    const pip = ['-m', 'pip', '-q', '--disable-pip-version-check'];
    const python = join(folder, 'venv/bin/python');
    await runs(python, [...pip, 'install', ...PACKAGES]);
    const source = ['download', `mcp==${VERSION}`, '--no-binary', 'mcp', '--no-deps', '-d', folder];
    await runs(python, [...pip, ...source]);
    const archive = `mcp-${VERSION}`;
    const wanted = ['interaction', '_stamp.py', '__init__.py'].map((part) => `${archive}/tests/${part}`);
    await runs('tar', ['xzf', `${archive}.tar.gz`, '--strip-components=1', ...wanted], folder);
    await rm(join(folder, `${archive}.tar.gz`));
  });

describe('the Python SDK’s own interaction suite', () => {
  test('passes through two replicas as it does without', { timeout: LIMIT_MS }, async (context) => {
    const reason = await missing('python3', '-m', 'venv', '--help');
    if (reason !== undefined) context.skip(reason);
    const folder = await installed();
    const port = await freePort();
    const upstream = { client_headers: { passthrough: ['X-Suite-Server'] } };
    const servers = [mounted('up', `http://127.0.0.1:${port}/mcp`, { upstream })];
    await using deployment = await startDeployment({
      config: { servers, uploads: { enabled: false }, artifacts: { enabled: false } },
    });
    const options = ['-q', '--no-header', '--tb=short', '-W', 'ignore', '-k', 'streamable-http and not trio'];
    const pytest = startProcess(
      join(folder, 'venv/bin/python'),
      [
        '-m',
        'pytest',
        '-p',
        'through_adapter',
        '-p',
        'no:cacheprovider',
        '--rootdir',
        folder,
        ...options,
        ...SUITES.map((suite) => join(folder, suite)),
      ],
      {
        PYTHONPATH: `${folder}:${PLUGINS}`,
        PYTHONDONTWRITEBYTECODE: '1',
        ADAPTER_URL: `${deployment.balancer.url}/mcp/up`,
        UPSTREAM_PORT: String(port),
      },
    );
    await pytest.exitsWithin(LIMIT_MS - 60_000);
    const output = pytest.stdout();
    expect(output, pytest.stderr()).toContain(' passed');
    const failed = [...output.matchAll(/^(?:FAILED|ERROR) \S+::(\w+)/gm)].map(([, name = '']) => name);
    expect(
      failed.filter((name) => !(name in EXCUSED)),
      output.slice(-8_000),
    ).toEqual([]);
    expect(Number(/(\d+) passed/.exec(output)?.[1])).toBeGreaterThan(250);
  });
});
