import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Caches } from '../../caches.ts';
import { FakeUpstream } from '../../exchange/testing/fake-upstream.ts';
import { MAX_DISCOVERY_CHARS } from '../../limits.ts';
import { Discoveries, type Discovery } from './discoveries.ts';

const SPOKEN = { supportedVersions: ['2026-07-28'] };
const TTL_MS = 60_000;
let upstream: FakeUpstream;
let caches: Caches;
let discoveries: Discoveries;

beforeEach(() => {
  vi.useFakeTimers();
  upstream = new FakeUpstream();
  caches = new Caches();
  discoveries = new Discoveries(upstream, TTL_MS, caches);
});
afterEach(() => {
  caches.stop();
  vi.useRealTimers();
});

function answer(result: unknown, status = 200): void {
  const { id } = JSON.parse(upstream.last.request.body?.text ?? '') as { id: string };
  upstream.last
    .json(status)
    .data(JSON.stringify({ jsonrpc: '2.0', id, result }))
    .end();
}
async function asked(result: unknown, key = 'k', status = 200): Promise<Discovery | undefined> {
  const discovered = discoveries.of(key, ['authorization', key]);
  answer(result, status);
  return discovered;
}

describe('what a server says of itself', () => {
  test('is asked for with the headers of the client, as the adapter', async () => {
    const info = { name: 's', version: '1' };
    const said = {
      capabilities: { tools: {} },
      instructions: 'Do.',
      _meta: { 'io.modelcontextprotocol/serverInfo': info },
    };
    expect(await asked({ ...SPOKEN, ...said })).toEqual({
      capabilities: { tools: {} },
      serverInfo: info,
      instructions: 'Do.',
    });
    const { headers, body, session } = upstream.last.request;
    expect([session, headers.slice(0, 2), headers.slice(-2)]).toEqual([
      undefined,
      ['authorization', 'k'],
      ['mcp-method', 'server/discover'],
    ]);
    expect(JSON.parse(body?.text ?? '')).toMatchObject({
      params: { _meta: { 'io.modelcontextprotocol/clientInfo': { name: 'mcp-adapter' } } },
    });
  });

  test('is asked for once by all who want to know at the same time', async () => {
    const all = [discoveries.of('k', []), discoveries.of('k', [])];
    answer(SPOKEN);
    expect(await Promise.all(all)).toEqual([expect.anything(), expect.anything()]);
    expect(upstream.exchanges).toHaveLength(1);
  });

  test.for([
    [undefined, TTL_MS],
    [5_000, 5_000],
    [0.5, 1],
    [1e300, TTL_MS],
    [-1, TTL_MS],
    ['5000', TTL_MS],
  ] as const)('counts, where its ttlMs is %j, for %d ms', async ([ttlMs, forMs]) => {
    await asked({ ...SPOKEN, ttlMs });
    vi.advanceTimersByTime(forMs - 1);
    await discoveries.of('k', []);
    expect(upstream.exchanges).toHaveLength(1);
    vi.advanceTimersByTime(1);
    await asked(SPOKEN);
    expect(upstream.exchanges).toHaveLength(2);
  });

  test('that counts for no time is asked for each time', async () => {
    await asked({ ...SPOKEN, ttlMs: 0 });
    await asked({ ...SPOKEN, ttlMs: 0 });
    expect(upstream.exchanges).toHaveLength(2);
  });

  test('to one client is not what it says to another', async () => {
    await asked({ ...SPOKEN, instructions: 'a' }, 'a');
    expect(await asked({ ...SPOKEN, instructions: 'b' }, 'b')).toMatchObject({ instructions: 'b' });
    expect(await discoveries.of('a', [])).toMatchObject({ instructions: 'a' });
  });

  test('is asked for again when it is known to be another', async () => {
    await asked(SPOKEN);
    discoveries.forget('k');
    expect(await asked({ ...SPOKEN, instructions: 'new' })).toMatchObject({ instructions: 'new' });
  });

  test.for([
    ['other revisions', { supportedVersions: ['2025-11-25'] }, 200],
    ['no revisions', {}, 200],
    ['nothing', undefined, 404],
    ['nothing, by the word for it', undefined, 400],
  ] as const)('is that it does not speak the newer revision: %s; and is not kept', async ([, result, status]) => {
    expect(await asked(result, 'k', status)).toBeUndefined();
    expect(await asked(SPOKEN)).toBeDefined();
  });

  test.for([401, 403, 408, 425, 429, 500, 503])(
    'is nothing where it refuses a client or this moment: %d',
    async (status) => {
      await expect(asked(undefined, 'k', status)).rejects.toThrow(String(status));
      expect(await asked(SPOKEN)).toBeDefined();
    },
  );

  test('is asked for again when it could not be reached', async () => {
    const failed = discoveries.of('k', []);
    upstream.last.fail(false);
    await expect(failed).rejects.toThrow('broke');
    expect(await asked(SPOKEN)).toBeDefined();
  });

  test('has a limit', async () => {
    await expect(asked({ ...SPOKEN, instructions: 'x'.repeat(MAX_DISCOVERY_CHARS) })).rejects.toThrow('too much');
  });

  test('has a time limit', async () => {
    const late = discoveries.of('k', []);
    late.catch(() => undefined);
    vi.advanceTimersByTime(20_000);
    await expect(late).rejects.toThrow('20 s');
    expect(upstream.last.aborted).toBe(true);
  });

  test('can hold anything where it is no object', async () => {
    expect(await asked({ ...SPOKEN, capabilities: [1], _meta: 'x' })).toEqual({
      capabilities: {},
      serverInfo: undefined,
      instructions: undefined,
    });
  });
});
