import type { FastifyRequest } from 'fastify';

/** Without the query, and without a slash at the end. */
export function pathOf(request: Pick<FastifyRequest, 'url'>): string {
  const query = request.url.indexOf('?');
  const path = query === -1 ? request.url : request.url.slice(0, query);
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}

/** What orchestrators ask, by whatever name they know. */
export const PROBE_PATHS: ReadonlySet<string> = new Set(['/livez', '/readyz']);

/** Open without a token (specification, section 5): probes cannot carry one. */
export const PUBLIC_PATHS: ReadonlySet<string> = new Set(['/healthz', ...PROBE_PATHS]);

/** The server whose mount, uploads or artifacts a request is about; undefined for what belongs to none. */
export function serverOf({
  routeOptions,
  params,
}: Pick<FastifyRequest, 'routeOptions' | 'params'>): string | undefined {
  return routeOptions.config.serverId ?? (params as { server?: string } | undefined)?.server;
}
