import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test, vi } from 'vitest';
import { toYaml } from '../../crds/config/testing/adapter-config.ts';
import { OtlpReceiver } from '../../lib/otlp/testing/otlp-receiver.ts';
import type { HealthObject } from '../../scraper/http/health.ts';
import { TestServer } from '../../scraper/requests/testing/test-server.ts';
import { startScraper } from '../support/scraper-process.ts';

/** What Node takes in a container of 512 MiB. */
const SMALL = { NODE_OPTIONS: '--max-old-space-size=256' };

const zipped = (text: string): Buffer => gzipSync(text, { level: 9 });
const send = (response: ServerResponse, body: Buffer): void =>
  void response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end(body);

/** Its answers are small on the way, and no two of them would fit into memory once they are read. */
const HOSTILE = {
  wide: zipped(`[${'{},'.repeat(20_000_000)}{}]`),
  deep: zipped(`[${'['.repeat(30_000_000)}`),
  long: zipped(`["${'x'.repeat(60_000_000)}"]`),
};

test('T17: answers of a few KB that become more than a GB end no scraper, and its other sources go on', async () => {
  expect(HOSTILE.wide.length).toBeLessThan(100_000);
  const folder = await mkdtemp(join(tmpdir(), 'hostile-answers-'));
  const receiver = new OtlpReceiver();
  const api = await TestServer.start(({ target }, response) => {
    const name = target.slice(1, 5);
    send(response, name in HOSTILE ? HOSTILE[name as keyof typeof HOSTILE] : zipped('[{"v":1}]'));
  });
  const source = (name: string): object => ({
    name,
    baseUrl: api.url,
    endpoint: `/${name}`,
    frequency: '1s',
    runFirstScrape: true,
    scrape: { type: 'instant', retry: { maxAttempts: 1 } },
  });
  const hostile = Object.keys(HOSTILE).flatMap((kind) => [1, 2, 3].map((count) => `${kind}-${count}`));
  const scraper = {
    otelCollectorEndpoint: await receiver.listen(),
    otelTransport: 'http',
    enforceTls: false,
    fingerprintStore: { sqlite: { path: join(folder, 'state.db') } },
  };
  const file = join(folder, 'config.yaml');
  await writeFile(file, toYaml({ scraper, sources: [...hostile, 'good'].map(source) }));
  await using running = await startScraper(file, { env: SMALL });
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rm(folder, { recursive: true }));
  stack.defer(() => api.close());
  stack.use(receiver);

  const errors = async (): Promise<Record<string, string | null>> => {
    const response = await fetch(`${running.url}/healthz`, { signal: AbortSignal.timeout(10_000) });
    const { sources } = (await response.json()) as HealthObject;
    return Object.fromEntries(sources.map(({ name, last_error: error }) => [name, error]));
  };
  await vi.waitFor(
    async () => {
      const found = await errors();
      for (const name of hostile) expect([name, found[name]]).toEqual([name, expect.stringContaining('too_large: ')]);
      for (const kind of ['wide', 'deep']) {
        expect(found[`${kind}-1`]).toMatch(/ memory[^;]*; ask for smaller pages/);
      }
    },
    { timeout: 60_000, interval: 500 },
  );
  const before = receiver.accepted.length;
  await vi.waitFor(() => expect(receiver.accepted.length).toBeGreaterThan(before + 2), { timeout: 20_000 });
  expect(await running.stop()).toEqual({ code: 0, signal: null });
}, 120_000);
