import { type RawUpstream, startRawUpstream } from '../../../support/raw-upstream.ts';
import { asObject, type JsonObject } from '../../../support/scripted-upstream/json-rpc.ts';
import type { Place } from '../../kit/session.ts';

export const SESSIONLESS_REVISION = '2026-07-28';

/** A server of the revision without sessions, which has one tool, `echo`. `url` is that of its endpoint. */
export async function startModernUpstream(): Promise<RawUpstream> {
  const tools = [{ name: 'echo', inputSchema: { type: 'object' } }];
  const results: Record<string, (params: JsonObject) => JsonObject> = {
    'server/discover': () => ({
      supportedVersions: [SESSIONLESS_REVISION],
      capabilities: { tools: {} },
      serverInfo: { name: 'modern-upstream', version: '1.0.0' },
    }),
    'tools/list': () => ({ tools }),
    'tools/call': ({ arguments: args }) => ({ content: [{ type: 'text', text: JSON.stringify(args) }] }),
  };
  const raw = await startRawUpstream(({ json }, res) => {
    const { id, method, params } = asObject(json);
    const result = results[String(method)]?.(asObject(params));
    const body =
      result === undefined
        ? { error: { code: -32601, message: 'Method not found' } }
        : { result: { resultType: 'complete', ...result } };
    res
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ jsonrpc: '2.0', id: id ?? null, ...body }));
  });
  return { ...raw, url: `${raw.url}/mcp` };
}

/** `_meta` of a request in that revision. */
export const SESSIONLESS_META = {
  'io.modelcontextprotocol/protocolVersion': SESSIONLESS_REVISION,
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** Posts a tool call of that revision, whose body may be given as it is to be sent. */
export function callModern(
  { url }: Place,
  path: string,
  body: string,
  headers: Record<string, string> = {},
): Promise<Response> {
  const { name } = asObject(asObject(JSON.parse(body)).params);
  return fetch(url + path, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': SESSIONLESS_REVISION,
      'mcp-method': 'tools/call',
      'mcp-name': String(name),
      ...headers,
    },
    body,
  });
}
