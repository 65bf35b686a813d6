import type { FastifyInstance, FastifyRequest } from 'fastify';

import { AdapterError } from '../errors.ts';
import type { HealthObject } from '../health/health.ts';

export interface HealthSource {
  /** `authenticated`: the caller may see where the state store and the upstreams are. */
  health(authenticated: boolean): Promise<HealthObject>;
  /** Why the replica should get no requests now; undefined when it should. */
  notReady(): string | undefined;
}

export interface HealthReader {
  readonly isAuthenticated: boolean;
  /** Whether the health object is for whoever asks; a page of the web could read it under a name of its own. */
  readonly mayRead: boolean;
}

/**
 * `/healthz` as specified (503 while anything is degraded), `/livez` (the process works) and `/readyz` (this replica
 * can serve; says nothing about upstreams).
 */
export function healthRoute(
  app: FastifyInstance,
  source: HealthSource,
  readerOf: (request: FastifyRequest) => Promise<HealthReader>,
): void {
  app.get('/healthz', named('/healthz'), async (request, reply) => {
    const reader = await readerOf(request);
    if (!reader.mayRead) throw new AdapterError('forbidden_host');
    const health = await source.health(reader.isAuthenticated);
    if (health.status === 'ok') return reply.send(health);
    return reply.code(503).header('retry-after', '1').send(health);
  });
  app.get('/livez', named('/livez'), (_request, reply) => reply.send({ status: 'ok' }));
  app.get('/readyz', named('/readyz'), (_request, reply) => {
    const reason = source.notReady();
    if (reason === undefined) return reply.send({ status: 'ok' });
    return reply.code(503).header('retry-after', '1').send({ status: 'unavailable', reason });
  });
}

const named = (routeGroup: string): { config: { routeGroup: string } } => ({ config: { routeGroup } });
