import { describe, expect, test } from 'vitest';
import { mounted, startDeployment } from '../adapter/kit/deployment.ts';
import { freePort } from '../support/ports.ts';
import { missing } from './cached.ts';
import { startPytest } from './python-sdk.ts';

const SUITES = ['tests/interaction/lowlevel', 'tests/interaction/mcpserver'];
const LIMIT_MS = 600_000;

const WHOLE = 'while lists are pinned the adapter reads the whole list as well';

/** Tests of the suite that end differently behind the adapter, and why that is meant. */
const EXCUSED: Readonly<Record<string, string>> = {
  // Each records the pages that the server is asked for.
  test_next_cursor_round_trips_through_the_client: WHOLE,
  test_the_client_follows_opaque_cursors_through_pages_of_varying_sizes: WHOLE,
  test_resources_list_supports_cursor_pagination: WHOLE,
  test_resource_templates_list_supports_cursor_pagination: WHOLE,
  test_prompts_list_supports_cursor_pagination: WHOLE,
  test_adding_and_removing_tools_does_not_notify_connected_clients:
    'the server changes its tools and tells nobody, so that the lists of the adapter stay as they were for their time',
};

describe('the Python SDK’s own interaction suite', () => {
  test('passes through two replicas as it does without', { timeout: LIMIT_MS }, async (context) => {
    const reason = await missing('python3', '-m', 'venv', '--help');
    if (reason !== undefined) context.skip(reason);
    const port = await freePort();
    const upstream = { client_headers: { passthrough: ['X-Suite-Server'] } };
    const servers = [mounted('up', `http://127.0.0.1:${port}/mcp`, { upstream })];
    await using deployment = await startDeployment({
      config: { servers, uploads: { enabled: false }, artifacts: { enabled: false } },
    });
    await using pytest = await startPytest('through_adapter', ['-q', '-k', 'streamable-http and not trio', ...SUITES], {
      ADAPTER_URL: `${deployment.balancer.url}/mcp/up`,
      UPSTREAM_PORT: String(port),
    });
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
