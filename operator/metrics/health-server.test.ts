import { afterEach, expect, it } from 'vitest';
import { holdConnections } from '../../lib/net/testing/hold-connections.ts';
import { HealthServer, type HealthSources } from './health-server.ts';

let server: HealthServer | undefined;
afterEach(() => server?.close());

async function start(sources: Partial<HealthSources> = {}): Promise<string> {
  server = new HealthServer({ notReady: () => undefined, metrics: () => Promise.resolve('up 1\n'), ...sources });
  return `http://127.0.0.1:${await server.listen(0, '127.0.0.1')}`;
}

async function ask(url: string, init?: RequestInit): Promise<string> {
  const response = await fetch(url, { signal: AbortSignal.timeout(5_000), ...init });
  return `${response.status} ${await response.text()}`;
}

it('is alive from the start, and ready when the operator is', async () => {
  let problem: string | undefined = 'the caches are not filled';
  const url = await start({ notReady: () => problem });
  expect(await ask(`${url}/livez`)).toBe('200 ok\n');
  expect(await ask(`${url}/readyz?verbose`)).toBe('503 the caches are not filled\n');
  problem = undefined;
  expect(await ask(`${url}/readyz`)).toBe('200 ok\n');
});

it('serves metrics as Prometheus asks for them', async () => {
  const url = await start();
  const response = await fetch(`${url}/metrics`);
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  expect(await response.text()).toBe('up 1\n');
  expect(await ask(`${url}/metrics`, { method: 'HEAD' })).toBe('200 ');
});

it('answers 500 when a source fails, and goes on', async () => {
  const url = await start({ metrics: () => Promise.reject(new Error('no metrics')) });
  expect(await ask(`${url}/metrics`)).toBe('500 no metrics\n');
  expect(await ask(`${url}/livez`)).toBe('200 ok\n');
});

it('knows nothing else', async () => {
  const url = await start();
  expect(await ask(`${url}/`)).toMatch(/^404/);
  expect(await ask(`${url}/livez`, { method: 'POST' })).toMatch(/^405/);
});

it('says when its port is taken, and closes although an answer is under way', async () => {
  const url = await start({ metrics: () => new Promise(() => {}) });
  const hanging = ask(`${url}/metrics`);
  await ask(`${url}/livez`);
  const second = new HealthServer({ notReady: () => undefined, metrics: () => Promise.resolve('') });
  await expect(second.listen(Number(new URL(url).port), '127.0.0.1')).rejects.toThrow(/EADDRINUSE/);
  await second.close();
  await server?.close();
  await expect(hanging).rejects.toThrow(/fetch failed/);
  await expect(fetch(`${url}/livez`)).rejects.toThrow();
});

it('M3 T23: answers while a thousand connections are held that ask for nothing', async () => {
  const url = await start();
  using _held = await holdConnections(url);
  expect(await ask(`${url}/livez`)).toBe('200 ok\n');
  expect(await ask(`${url}/metrics`)).toBe('200 up 1\n');
});
