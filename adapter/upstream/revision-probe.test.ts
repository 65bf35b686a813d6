import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { RevisionProbe } from './revision-probe.ts';
import { StreamableHttpUpstream } from './streamable-http.ts';
import {
  answerError,
  answerResult,
  type Handler,
  type HttpUpstream,
  startHttpUpstream,
} from './testing/http-upstream.ts';

const modern: Handler = (request, res) =>
  answerResult(request, res, { supportedVersions: ['2025-11-25', '2026-07-28'] });
const legacy: Handler = (request, res) => answerError(request, res, 400, -32_000, 'No session');

describe('whether an upstream is sessionless', () => {
  let http: HttpUpstream;
  let upstream: StreamableHttpUpstream;
  let probe: RevisionProbe;

  beforeEach(async () => {
    http = await startHttpUpstream(modern);
    upstream = new StreamableHttpUpstream({ url: `${http.origin}/mcp`, insecureTls: false });
    probe = new RevisionProbe(upstream, 2000);
  });
  afterEach(async () => {
    vi.useRealTimers();
    await upstream.close();
    await http.close();
  });

  test('is asked with the credentials of the request, once for all', async () => {
    const headers = ['content-type', 'application/json', 'authorization', 'Bearer x'];
    expect(await Promise.all([probe.of('', headers), probe.of('', headers)])).toEqual(['modern', 'modern']);
    expect(await probe.of('', headers)).toBe('modern');
    expect(http.requests).toHaveLength(1);
    expect(http.requests[0]).toMatchObject({
      headers: { authorization: 'Bearer x', 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'server/discover' },
      message: {
        method: 'server/discover',
        params: { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } },
      },
    });
  });

  test.each<[string, Handler, string]>([
    ['an error', legacy, 'legacy'],
    ['404', (_request, res) => void res.writeHead(404).end(), 'legacy'],
    ['a page', (_request, res) => void res.writeHead(200, { 'content-type': 'text/html' }).end('<html>'), 'legacy'],
    [
      'older versions',
      (request, res) => answerResult(request, res, { supportedVersions: ['2025-11-25', 7] }),
      'declined',
    ],
    ['no versions', (request, res) => answerResult(request, res, {}), 'legacy'],
    ['later versions', (request, res) => answerResult(request, res, { supportedVersions: ['2027-01-01'] }), 'modern'],
    ['401', (_request, res) => void res.writeHead(401).end(), 'unknown'],
    ['403', (request, res) => answerError(request, res, 403, -1, 'no'), 'unknown'],
    ['408', (_request, res) => void res.writeHead(408).end(), 'unknown'],
    ['425', (_request, res) => void res.writeHead(425).end(), 'unknown'],
    ['429', (request, res) => answerError(request, res, 429, -1, 'slow down'), 'unknown'],
    ['500', (_request, res) => void res.writeHead(500).end(), 'unknown'],
    ['503', (_request, res) => void res.writeHead(503).end(), 'unknown'],
  ])('is read from its answer: %s', async (_name, handler, era) => {
    http.handler = handler;
    expect(await probe.of('', [])).toBe(era);
  });

  test('is asked again after what is no evidence', async () => {
    http.handler = (_request, res) => void res.writeHead(503).end();
    expect(await probe.of('', [])).toBe('unknown');
    http.handler = modern;
    expect(await probe.of('', [])).toBe('modern');
  });

  test('is asked again after some time, sooner where it was not', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 0 });
    http.handler = legacy;
    await probe.of('', []);
    vi.setSystemTime(29_999);
    expect([await probe.of('', []), http.requests.length]).toEqual(['legacy', 1]);
    vi.setSystemTime(30_000);
    http.handler = modern;
    expect([await probe.of('', []), http.requests.length]).toEqual(['modern', 2]);
    vi.setSystemTime(30_000 + 299_999);
    await probe.of('', []);
    expect(http.requests).toHaveLength(2);
    vi.setSystemTime(30_000 + 300_000);
    await probe.of('', []);
    expect(http.requests).toHaveLength(3);
  });

  test('is what a client was told only for those with the same headers, unless it speaks it', async () => {
    http.handler = (request, res) => (request.headers['x-tenant'] === 'blue' ? modern : legacy)(request, res);
    const [none, red, blue] = [[], ['x-tenant', 'red'], ['x-tenant', 'blue']];
    expect(await Promise.all([probe.of('', none), probe.of('red', red)])).toEqual(['legacy', 'legacy']);
    expect([await probe.of('', none), http.requests.length]).toEqual(['legacy', 2]);
    expect([await probe.of('blue', blue), http.requests.length]).toEqual(['modern', 3]);
    expect([await probe.of('', none), await probe.of('green', none)]).toEqual(['modern', 'modern']);
    expect(http.requests).toHaveLength(3);
  });

  test('is forgotten for the oldest of very many', async () => {
    http.handler = legacy;
    for (let i = 0; i < 1_001; i++) await probe.of(`${i}`, []);
    await probe.of('1000', []);
    expect(http.requests).toHaveLength(1_001);
    await probe.of('0', []);
    expect(http.requests).toHaveLength(1_002);
  });

  test('is not known of one that cannot be reached, which is said', async () => {
    await http.close();
    await expect(probe.of('', [])).rejects.toThrow('ECONNREFUSED');
    await expect(probe.of('', [])).rejects.toThrow('ECONNREFUSED');
  });

  test('is never asked over a transport that cannot carry it', async () => {
    const old = new RevisionProbe(Object.assign(Object.create(upstream), { modern: false }), 2000);
    expect([await old.of('', []), http.requests.length]).toEqual(['legacy', 0]);
  });
});
