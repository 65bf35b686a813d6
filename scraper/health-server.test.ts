import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { healthObject } from './health.ts';
import { HealthServer } from './health-server.ts';

describe('the health server', () => {
  let server: HealthServer;
  let url: string;
  let reason: string | undefined;
  const health = healthObject({
    version: '1',
    configHash: '0123456789abcdef',
    configError: 'why',
    referencesChanged: true,
    sources: [],
  });

  beforeEach(async () => {
    reason = undefined;
    server = new HealthServer({ health: () => health, notReady: () => reason });
    url = await server.listen('127.0.0.1', 0);
  });
  afterEach(() => server.close());

  const get = async (path: string, method = 'GET') => {
    const response = await fetch(url + path, { method, signal: AbortSignal.timeout(5000) });
    const text = await response.text();
    return { status: response.status, body: text === '' ? undefined : (JSON.parse(text) as unknown) };
  };

  test('is alive and ready', async () => {
    expect(await get('/livez')).toEqual({ status: 200, body: { status: 'ok' } });
    expect(await get('/readyz?verbose')).toEqual({ status: 200, body: { status: 'ok' } });
  });

  test('says why it is not ready, and stays alive', async () => {
    reason = 'draining';
    expect(await get('/readyz')).toEqual({ status: 503, body: { status: 'unavailable', reason: 'draining' } });
    expect((await get('/livez')).status).toBe(200);
  });

  test.each(['/health', '/healthz'])('%s shows the health object', async (path) => {
    expect(await get(path)).toEqual({ status: 200, body: health });
  });

  test.each<[string, string, number]>([
    ['GET', '/', 404],
    ['GET', '/constructor', 404],
    ['POST', '/healthz', 405],
    ['HEAD', '/healthz', 200],
  ])('%s %s gives %i', async (method, path, status) => {
    expect((await get(path, method)).status).toBe(status);
  });

  test('fails to open a port that is taken', async () => {
    const second = new HealthServer({ health: () => health, notReady: () => undefined });
    await expect(second.listen('127.0.0.1', Number(new URL(url).port))).rejects.toThrow('EADDRINUSE');
    await second.close();
  });

  test('ends although a client holds its connection', async () => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.on('error', () => undefined);
    // The answer to the first request says that the start of the second one has arrived.
    socket.write('GET /livez HTTP/1.1\r\nHost: x\r\n\r\nGET /livez HTTP/1.1\r\n');
    await once(socket, 'data');
    await server.close();
    socket.destroy();
  });
});
