import { describe, expect, test } from 'vitest';
import { loadAdapterConfig } from '../../crds/config/load/load.ts';
import { adapterConfig } from './adapter-config.ts';

const options = { port: 4001, storage: '/tmp/storage', redisPort: 4002, upstream: 'http://127.0.0.1:4000' };

describe('the configuration of a measured adapter', () => {
  test.each(['memory', 'disk', 'redis'] as const)('state type %s is one that the adapter accepts', (state) => {
    const config = loadAdapterConfig(adapterConfig({ ...options, state }), {});
    expect(config.state_persistence.type).toBe(state);
    expect(config.core).toMatchObject({ host: '127.0.0.1', port: 4001 });
    if (state === 'redis') expect(config.state_persistence.redis).toMatchObject({ host: '127.0.0.1', port: 4002 });
  });

  test.each(['memory', 'redis'] as const)('what an experiment sets of the state %s is kept', (state) => {
    const extra = { state_persistence: { type: 'disk', reconciliation: { mode: 'always', legacy_server_id: 'main' } } };
    const { state_persistence: persistence } = loadAdapterConfig(adapterConfig({ ...options, state, extra }), {});
    expect(persistence).toMatchObject({ type: state, reconciliation: extra.state_persistence.reconciliation });
  });

  test('the protections that cost time are on', () => {
    const { core } = loadAdapterConfig(adapterConfig({ ...options, state: 'memory' }), {});
    expect(core.tool_definition_pinning.mode).toBe('warn');
    expect(core.tool_metadata_sanitization.mode).toBe('sanitize');
    expect(core.upstream_ping.enabled).toBe(true);
  });

  test('every endpoint of the upstream is mounted', () => {
    const { servers } = loadAdapterConfig(adapterConfig({ ...options, state: 'memory' }), {});
    expect(servers.map(({ mount_path, upstream }) => [mount_path, upstream.url])).toEqual([
      ['/mcp/main', 'http://127.0.0.1:4000/mcp'],
      ['/mcp/catalog', 'http://127.0.0.1:4000/mcp200'],
      ['/mcp/events', 'http://127.0.0.1:4000/mcp-sse'],
      ['/mcp/huge', 'http://127.0.0.1:4000/mcp-huge'],
    ]);
  });
});
