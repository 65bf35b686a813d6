import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { listen } from '../support/ports.ts';
import { runScraper } from '../support/scraper-process.ts';

test('a scraper whose port is taken says so, closes what it has opened, and ends with 1', async () => {
  await using open = new AsyncDisposableStack();
  const taken = createServer();
  open.defer(() => void taken.close());
  const port = await listen(taken);
  const folder = await mkdtemp(join(tmpdir(), 'scraper-'));
  open.defer(() => rm(folder, { recursive: true, force: true }));
  const scraper = { otelCollectorEndpoint: 'http://127.0.0.1:9', enforceTls: false, logLevel: 'debug' };
  const file = join(folder, 'scraper.yaml');
  await writeFile(file, JSON.stringify({ scraper, sources: [] }));
  const args = ['--config', file, '--host', '127.0.0.1', '--port', String(port)];
  const { code, stderr } = await runScraper(args);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^otel-api-scraper: cannot start: listen EADDRINUSE/m);
});
