import { describe, expect, test } from 'vitest';
import { runAdapter, startAdapter } from '../support/adapter-process.ts';
import { connectV1 } from '../support/real-client-v1.ts';
import { startScriptedUpstream } from '../support/scripted-upstream/scripted-upstream.ts';
import { mounted } from './kit/deployment.ts';

const LOOK_AHEAD = '(?!safe_).*';
const PATH = 'servers[0].disabled_tools[0]';

const config = (url: string, core: Record<string, unknown> = {}, pattern = LOOK_AHEAD) => ({
  core: { max_start_wait_seconds: 0, upstream_ping: { enabled: false }, ...core },
  state_persistence: { type: 'memory' },
  servers: [mounted('up', url, { disabled_tools: [pattern] })],
});
const answers = { sampling: '', elicitation: { action: 'decline' }, roots: [] } as const;

describe('T11: a pattern of disabled_tools that cannot be compiled', () => {
  const url = 'http://127.0.0.1:9/mcp';

  test('is told by --check-config with its path, and fails with --strict', async () => {
    const told = await runAdapter({ config: config(url), args: ['--check-config'] });
    expect(told).toMatchObject({ code: 0, stdout: expect.stringContaining('valid: 1 server (up), state in ') });
    expect(told.stderr).toMatch(/config\.yaml: warning: servers\[0\]\.disabled_tools\[0\] .*look-ahead/);
    const strict = await runAdapter({ config: config(url), args: ['--check-config', '--strict'] });
    expect(strict).toMatchObject({ code: 1, stderr: expect.stringContaining(PATH) });
    const good = await runAdapter({ config: config(url, {}, 'delete_.*'), args: ['--check-config', '--strict'] });
    expect(good).toMatchObject({ code: 0, stderr: '' });
  });

  test('refuses the start with core.invalid_patterns: fail', async () => {
    const { code, stderr } = await runAdapter({ config: config(url, { invalid_patterns: 'fail' }) });
    expect(code).toBe(1);
    expect(stderr).toContain(`cannot start: core.invalid_patterns is fail`);
    expect(stderr).toContain(PATH);
  });

  test.for([
    ['warn', true],
    ['hide_all', false],
  ] as const)('is logged at the start, and with %s the tools are listed: %s', async ([how, isListed]) => {
    await using upstream = await startScriptedUpstream();
    const adapter = await startAdapter({ config: config(upstream.url, { invalid_patterns: how }) });
    try {
      await using client = await connectV1({
        url: `${adapter.url}/mcp/up`,
        transport: 'streamable_http',
        answers: { ...answers, roots: [] },
      });
      const { tools } = (await client.request('tools/list', {})) as { tools: unknown[] };
      expect(tools.length > 0).toBe(isListed);
      const [tool = ''] = upstream.tools.keys();
      const call = client.request('tools/call', { name: tool, arguments: {} });
      if (!isListed) await expect(call).rejects.toThrow('Unknown tool');
      else await call.catch(() => undefined);
    } finally {
      await adapter.stop();
    }
    expect(adapter.stdout()).toContain(`"path":"${PATH}"`);
  });
});
