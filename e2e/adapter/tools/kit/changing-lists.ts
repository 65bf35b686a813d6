import type { ServerResponse } from 'node:http';

import { startRawUpstream } from '../../../support/raw-upstream.ts';
import { asObject, type JsonObject } from '../../../support/scripted-upstream/json-rpc.ts';

const MODERN = '2026-07-28';

/** A server of both families whose lists a test changes as it likes. */
export interface ChangingLists extends AsyncDisposable {
  readonly url: string;
  tools: JsonObject[];
  prompts: JsonObject[];
  resourceTemplates: JsonObject[];
  instructions: string | undefined;
  /** Names of tools that were called, in their order. */
  readonly called: string[];
  /** How often `tools/list` was asked for. */
  listed: number;
  /** Streams that are open. */
  readonly streams: ReadonlySet<unknown>;
  /** Tells it on every stream that is open. */
  announce(): void;
}

/** `host` is what it listens on and what stands in its URL. */
export async function startChangingLists(host?: string): Promise<ChangingLists> {
  const streams = new Set<ServerResponse>();
  const tell = (res: ServerResponse, message: object): void => void res.write(`data: ${JSON.stringify(message)}\n\n`);
  const open = (res: ServerResponse): void => {
    res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    streams.add(res);
    res.once('close', () => streams.delete(res));
  };
  const raw = await startRawUpstream(({ json, method: verb }, res) => {
    const { id, method, params } = asObject(json);
    if (verb === 'GET') return open(res);
    if (verb !== 'POST' || id === undefined) return void res.writeHead(verb === 'POST' ? 202 : 200).end();
    const { name } = asObject(params);
    if (method === 'subscriptions/listen') {
      open(res);
      const acknowledged = { notifications: { toolsListChanged: true } };
      return tell(res, { jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params: acknowledged });
    }
    if (method === 'tools/call') lists.called.push(String(name));
    if (method === 'tools/list') lists.listed += 1;
    const { tools, prompts, resourceTemplates, instructions } = lists;
    const own = {
      capabilities: { tools: { listChanged: true }, prompts: {}, resources: {} },
      serverInfo: { name: 'changing', version: '1' },
      ...(instructions !== undefined && { instructions }),
    };
    const results: Readonly<Record<string, object>> = {
      initialize: { protocolVersion: '2025-11-25', ...own },
      'server/discover': { supportedVersions: [MODERN], resultType: 'complete', ...own },
      'tools/list': { tools, resultType: 'complete' },
      'prompts/list': { prompts, resultType: 'complete' },
      'prompts/get': { messages: [], resultType: 'complete' },
      'resources/templates/list': { resourceTemplates, resultType: 'complete' },
      'tools/call': { content: [{ type: 'text', text: `${String(name)} ran` }], resultType: 'complete' },
    };
    const result = results[String(method)] ?? { resultType: 'complete' };
    res
      .writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 'one' })
      .end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  }, host);
  const lists: ChangingLists = {
    url: `${raw.url}/mcp`,
    tools: [],
    prompts: [],
    resourceTemplates: [],
    instructions: undefined,
    called: [],
    listed: 0,
    streams,
    announce() {
      for (const res of streams) tell(res, { jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
    },
    [Symbol.asyncDispose]: () => raw.close(),
  };
  return lists;
}
