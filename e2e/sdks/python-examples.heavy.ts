import { describe, expect, test } from 'vitest';
import { mounted, startDeployment } from '../adapter/kit/deployment.ts';
import { freePort } from '../support/ports.ts';
import { missing } from './cached.ts';
import { startPytest } from './python-sdk.ts';

const LIMIT_MS = 300_000;

/**
 * Each example is a server and a client that checks what it gets: tools, prompts, resources, lists in pages, progress,
 * logs, questions to the client in both eras, subscriptions, resumed streams, servers without sessions, OAuth.
 */
describe('the Python SDK’s own examples', () => {
  test('pass through two replicas as they do without', { timeout: LIMIT_MS }, async (context) => {
    const reason = await missing('python3', '-m', 'venv', '--help');
    if (reason !== undefined) context.skip(reason);
    const port = await freePort();
    const origin = `http://127.0.0.1:${port}`;
    const upstream = { client_headers: { unsafe: true, passthrough: ['X-Suite-Server', 'Authorization'] } };
    // The paths of the examples, most of which stand in their clients.
    const servers = [
      mounted('up', `${origin}/mcp`, { mount_path: '/mcp', upstream }),
      mounted('api', `${origin}/api/`, { mount_path: '/api', upstream }),
    ];
    await using deployment = await startDeployment({
      config: { core: { upload_path: '/upload' }, servers, uploads: { enabled: false }, artifacts: { enabled: false } },
    });
    const { balancer } = deployment;
    await using pytest = await startPytest(
      'stories_through',
      ['-q', '-k', 'http-asgi and not trio', 'tests/examples/test_stories.py'],
      { FRONT_URL: balancer.url, UPSTREAM_PORT: String(port) },
    );
    await pytest.exitsWithin(LIMIT_MS - 60_000);
    expect(pytest.stdout(), pytest.stderr()).toMatch(/^90 passed, \d+ deselected in/m);
    expect(balancer.requests.length).toBeGreaterThan(500);
  });
});
