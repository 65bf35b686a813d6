import type { IncomingHttpHeaders } from 'node:http';

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import type { Message } from '../exchange/message.ts';
import { MemoryStore } from '../state/memory/memory-store.ts';
import { StreamableHttpUpstream } from '../upstream/streamable-http.ts';
import {
  answerError,
  answerResult,
  type Handler,
  type HttpUpstream,
  startHttpUpstream,
} from '../upstream/testing/http-upstream.ts';
import type { InventoryRequest } from './tool-inventory.ts';
import type { Mount } from '../mount/mount.ts';
import { sampleMount } from '../gateway/testing/sample-mount.ts';
import { sampleCaller, sampleClient } from '../steps/testing/step-scene.ts';
import { ToolParameters } from './tool-parameters.ts';

const schema = (header: string) => ({
  type: 'object',
  properties: { region: { type: 'string', 'x-mcp-header': header } },
});
const call = (name: unknown = 'a', region = 'eu'): Message => ({
  kind: 'request',
  method: 'tools/call',
  params: { name, arguments: { region } },
  idText: '1',
});
const base = ['content-type', 'application/json', 'authorization', 'Bearer x'];
const listingOn = (mount: Mount, headers: IncomingHttpHeaders = {}): InventoryRequest =>
  sampleClient(mount, new MemoryStore()).listing({ caller: sampleCaller({ headers }), trace: undefined });
/** Two pages of tools, whose parameter `region` is repeated in this header. */
const listing =
  (header: string): Handler =>
  (request, res) => {
    const second = request.message.params?.['cursor'] === '2';
    const tools = [{ name: second ? 'a' : 'other', inputSchema: schema(header) }, null, { name: 7 }];
    answerResult(request, res, { tools, ...(second ? {} : { nextCursor: '2' }) });
  };

describe('the headers that repeat arguments of a tool', () => {
  let http: HttpUpstream;
  let mount: Mount;
  let parameters: ToolParameters;

  beforeEach(async () => {
    http = await startHttpUpstream(listing('Region'));
    const upstream = new StreamableHttpUpstream({ url: `${http.origin}/mcp`, insecureTls: false });
    mount = sampleMount({}, { upstream });
    parameters = new ToolParameters();
  });
  afterEach(async () => {
    vi.useRealTimers();
    await mount.upstream.close();
    await http.close();
  });

  const mismatch = (headers: Record<string, string>, message = call()): Promise<string | undefined> =>
    parameters.mismatch({ ...listingOn(mount), base }, message, headers);

  test('are learned from the tools of all pages, once, with the credentials of the request', async () => {
    expect(await Promise.all([mismatch({ 'mcp-param-region': 'eu' }), mismatch({ 'mcp-param-region': 'eu' })])).toEqual(
      [undefined, undefined],
    );
    expect(await mismatch({ 'mcp-param-region': 'eu' }, call('other'))).toBeUndefined();
    expect(http.requests).toHaveLength(2);
    for (const { headers, message } of http.requests) {
      expect(message.method).toBe('tools/list');
      expect(headers).toMatchObject({
        authorization: 'Bearer x',
        'mcp-method': 'tools/list',
        'mcp-protocol-version': '2026-07-28',
      });
    }
  });

  test('are asked for once for each client, whatever ids its requests have', async () => {
    const client_headers = { passthrough: ['Authorization', 'X-Request-ID'], unsafe: true };
    const of = sampleMount({ upstream: { client_headers } }, { upstream: mount.upstream });
    const learn = (authorization: string, id: string): Promise<unknown> => {
      const headers = { authorization, 'x-request-id': id };
      return parameters.of(listingOn(of, headers), 'a');
    };
    for (const id of ['1', '2']) await learn('Bearer one', id);
    expect(http.requests).toHaveLength(2);
    await learn('Bearer two', '3');
    expect(http.requests).toHaveLength(4);
  });

  test('must match, after another look at tools that may have changed', async () => {
    await mismatch({ 'mcp-param-region': 'eu' });
    expect(await mismatch({ 'mcp-param-region': 'us' })).toBe('The mcp-param-region header does not match region.');
    expect(http.requests).toHaveLength(4);
    http.handler = listing('Zone');
    expect(await mismatch({ 'mcp-param-zone': 'eu' })).toBeUndefined();
    expect(http.requests).toHaveLength(6);
    expect(await mismatch({})).toBe('The mcp-param-zone header is missing.');
  });

  test('T14: are refused where nothing declares them', async () => {
    expect(await mismatch({ 'mcp-param-region': 'eu', 'mcp-param-zone': 'x' })).toContain('mcp-param-zone');
    const other: Message = { kind: 'request', method: 'tools/list', params: {}, idText: '1' };
    expect(await mismatch({ 'mcp-param-zone': 'x' }, other)).toContain('mcp-param-zone');
    // Of a tool that the upstream does not list, only the upstream knows.
    expect(await mismatch({ 'mcp-param-zone': 'x' }, call('unlisted'))).toBeUndefined();
  });

  test('are asked for again after their time', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    await mismatch({ 'mcp-param-region': 'eu' });
    vi.setSystemTime(Date.now() + 60_001);
    await mismatch({ 'mcp-param-region': 'eu' });
    expect(http.requests).toHaveLength(4);
  });

  test.each<[string, Handler]>([
    ['refuses', (request, res) => answerError(request, res, 401, -1, 'no')],
    ['breaks off', (_request, res) => void res.destroy()],
    ['lists nonsense', (request, res) => answerResult(request, res, { tools: 'x' })],
  ])('are left to an upstream to check that %s', async (_name, handler) => {
    http.handler = handler;
    expect(await mismatch({ 'mcp-param-region': 'us' })).toBeUndefined();
  });

  test('are sought on no more than 1,000 pages', async () => {
    http.handler = (request, res) => answerResult(request, res, { tools: [], nextCursor: 'again' });
    expect(await mismatch({})).toBeUndefined();
    expect(http.requests).toHaveLength(1_000);
  });

  test('concern calls of named tools only', async () => {
    expect(await mismatch({}, { kind: 'request', method: 'tools/list', params: {}, idText: '1' })).toBeUndefined();
    expect(await mismatch({}, { kind: 'notification', method: 'tools/call', params: { name: 'a' } })).toBeUndefined();
    expect(await mismatch({}, call(7))).toBeUndefined();
    const bare: Message = { kind: 'request', method: 'tools/call', params: { name: 'a', arguments: {} }, idText: '1' };
    expect(await mismatch({}, bare)).toBeUndefined();
    expect(http.requests).toEqual([]);
    expect(await mismatch({}, call('unknown'))).toBeUndefined();
  });
});
