/** How a program is, as it says itself. */
export interface Health {
  readonly ready: boolean;
  /** Healthy upstreams of all, such as `3/4`; empty while unknown. */
  readonly upstreams: string;
  readonly problems: readonly string[];
}

const TIMEOUT_MS = 2000;

/** Asks `/readyz` and `/healthz` at a base URL. Never rejects. */
export async function probe(url: string): Promise<Health> {
  try {
    const ready = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    await ready.body?.cancel();
    const health: unknown = await (await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(TIMEOUT_MS) })).json();
    const servers = serversOf(health);
    const failing = servers.filter(({ status }) => status !== 'ok');
    return {
      ready: ready.ok,
      upstreams: `${servers.length - failing.length}/${servers.length}`,
      problems: failing.map(({ server_id: id, upstream_url: at }) => `upstream ${id} does not answer at ${at}`),
    };
  } catch {
    return { ready: false, upstreams: '', problems: [] };
  }
}

interface Server {
  readonly server_id: string;
  readonly upstream_url: string;
  readonly status: string;
}

function serversOf(health: unknown): readonly Server[] {
  const servers: unknown = typeof health === 'object' && health !== null && 'servers' in health ? health.servers : [];
  return Array.isArray(servers) ? (servers as Server[]) : [];
}
