import { expect, test } from 'vitest';
import { startAdapter } from '../support/adapter-process.ts';
import { startRawUpstream } from '../support/raw-upstream.ts';
import { mounted } from './kit/deployment.ts';

const VERSION = '2026-07-28';
/** Sealed by the upstream: one byte more or less, and it is worth nothing. */
const STATE = 'v1.\\u00e9~"sealed" /+= \u{1f512}';
const meta = {
  'io.modelcontextprotocol/protocolVersion': VERSION,
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'client', version: '1' },
};

test('T18: the sealed state of an upstream passes both ways as it is, and stands in no log', async () => {
  await using upstream = await startRawUpstream(({ json }, res) => {
    const { id, method, params } = json as { id: unknown; method: string; params?: { requestState?: string } };
    const results: Record<string, object> = {
      'server/discover': {
        supportedVersions: [VERSION],
        capabilities: { tools: {} },
        serverInfo: { name: 'u', version: '1' },
      },
      'tools/list': { tools: [{ name: 'ask', inputSchema: { type: 'object' } }] },
      'tools/call':
        params?.requestState === STATE
          ? { resultType: 'complete', content: [{ type: 'text', text: 'done' }] }
          : { resultType: 'input_required', inputRequests: {}, requestState: STATE },
    };
    res.writeHead(200, { 'content-type': 'application/json' });
    res.end(JSON.stringify({ jsonrpc: '2.0', id, result: results[method] ?? {} }));
  });
  await using adapter = await startAdapter({
    config: {
      core: { max_start_wait_seconds: 0, log_level: 'debug', upstream_ping: { enabled: false } },
      state_persistence: { type: 'memory' },
      servers: [mounted('up', `${upstream.url}/mcp`)],
    },
  });
  const call = async (more: object): Promise<Record<string, unknown>> => {
    const response = await fetch(`${adapter.url}/mcp/up`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': VERSION,
        'mcp-method': 'tools/call',
        'mcp-name': 'ask',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'ask', _meta: meta, ...more },
      }),
    });
    return ((await response.json()) as { result: Record<string, unknown> }).result;
  };
  const asked = await call({});
  expect(asked['requestState']).toBe(STATE);
  expect(await call({ requestState: asked['requestState'] })).toMatchObject({ content: [{ text: 'done' }] });
  expect(adapter.stdout()).not.toContain('sealed');
});
