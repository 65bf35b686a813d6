import { fastify, type FastifyInstance } from 'fastify';
import { afterEach, expect, test } from 'vitest';
import type { HealthObject } from '../health/health.ts';
import { healthRoute } from './health-route.ts';

let app: FastifyInstance | undefined;
afterEach(() => app?.close());

async function ask(path: string, status: HealthObject['status'], reason?: string) {
  app = fastify();
  const health: HealthObject = {
    status,
    package: 'remote_mcp_adapter',
    version: '1.0.0',
    servers: [],
    persistence: {},
    adapter_wiring: { status_by_server: {}, ready: true },
  };
  healthRoute(app, { health: async () => health, notReady: () => reason }, async () => ({
    isAuthenticated: false,
    mayRead: true,
  }));
  const { statusCode, headers } = await app.inject(path);
  return [statusCode, headers['retry-after']];
}

test('O18: /healthz and /readyz say when to ask again where they answer 503', async () => {
  expect(await ask('/healthz', 'ok')).toEqual([200, undefined]);
  expect(await ask('/healthz', 'degraded')).toEqual([503, '1']);
  expect(await ask('/readyz', 'ok')).toEqual([200, undefined]);
  expect(await ask('/readyz', 'ok', 'draining')).toEqual([503, '1']);
});
