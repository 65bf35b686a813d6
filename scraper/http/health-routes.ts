import type { HealthObject } from './health.ts';
import { ok } from '../../lib/http/answer.ts';
import type { Route } from '../../lib/http/route.ts';

export interface HealthSource {
  health(): HealthObject;
  /** Why the program should be waited for; undefined when it works. */
  notReady(): string | undefined;
}

/**
 * `/livez` (the process works), `/readyz` (its state works and it is not about to end), the health object at `/healthz`,
 * and `/health`, which says no more than in the original. All but `/readyz` answer 200 as long as the process works.
 */
export const healthRoutes = (source: HealthSource): Route[] => [
  { method: 'GET', path: '/livez', answer: () => ok({ status: 'ok' }) },
  { method: 'GET', path: '/health', answer: () => ok({ status: 'ok' }) },
  { method: 'GET', path: '/healthz', answer: () => ok(source.health()) },
  {
    method: 'GET',
    path: '/readyz',
    answer: () => {
      const reason = source.notReady();
      if (reason === undefined) return ok({ status: 'ok' });
      return { status: 503, body: { status: 'unavailable', reason }, headers: { 'Retry-After': '1' } };
    },
  },
];
