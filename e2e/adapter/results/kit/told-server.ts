import { pipeline } from 'node:stream/promises';

import { startRawUpstream } from '../../../support/raw-upstream.ts';
import { asObject, type JsonObject } from '../../../support/scripted-upstream/json-rpc.ts';

const MODERN = '2026-07-28';

/** A server of both families whose tools answer with exactly the JSON texts that they were told. */
export interface ToldServer extends AsyncDisposable {
  readonly url: string;
  /** Definitions by name, without it. */
  readonly tools: Map<string, JsonObject>;
  /** JSON texts of results, by the argument `key`; a function writes pieces of one. */
  readonly results: Map<string, string | (() => Iterable<string>)>;
}

/** `arguments.as`: `json` or `sse`. */
export async function startToldServer(): Promise<ToldServer> {
  const tools = new Map<string, JsonObject>([['tell', { inputSchema: { type: 'object' } }]]);
  const results: ToldServer['results'] = new Map();
  const serverInfo = { name: 'told', version: '1' };
  const upstream = await startRawUpstream(async ({ json, method: verb }, res) => {
    const { id, method, params } = asObject(json);
    if (verb !== 'POST' || id === undefined) {
      res.writeHead(verb === 'POST' ? 202 : 405).end();
      return;
    }
    const { name, arguments: args } = asObject(params);
    const { key, as } = asObject(args);
    const list = Array.from(tools, ([tool, definition]) => ({ name: tool, ...definition }));
    const capabilities = { tools: {} };
    const own: Record<string, object> = {
      initialize: { protocolVersion: '2025-11-25', capabilities, serverInfo },
      'server/discover': { supportedVersions: [MODERN], capabilities, serverInfo, resultType: 'complete' },
      'tools/list': { tools: list, resultType: 'complete' },
    };
    const isCall = method === 'tools/call' && tools.has(String(name));
    const told = isCall ? results.get(String(key)) : JSON.stringify(own[String(method)] ?? {});
    const pieces = typeof told === 'function' ? told() : [told ?? '{"content":[]}'];
    const isEvents = as === 'sse';
    res.writeHead(200, { 'content-type': isEvents ? 'text/event-stream' : 'application/json' });
    const before = `${isEvents ? 'event: message\ndata: ' : ''}{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`;
    await pipeline(around(before, pieces, isEvents ? '}\n\n' : '}'), res);
  });
  return { url: `${upstream.url}/mcp`, tools, results, [Symbol.asyncDispose]: () => upstream.close() };
}

function* around(before: string, pieces: Iterable<string>, after: string): Generator<string> {
  yield before;
  yield* pieces;
  yield after;
}
