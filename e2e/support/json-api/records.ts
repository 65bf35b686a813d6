/** A record of the API: something that took place. */
export interface ApiRecord {
  readonly id: number;
  /** When: ISO 8601 in UTC. */
  readonly at: string;
  readonly [field: string]: unknown;
}

const HOSTS = ['ares', 'hera', 'zeus'];
const LEVELS = ['info', 'info', 'warning', 'error'];

/** `count` records, `stepMs` apart, whose fields follow from their number. */
export function records(count: number, from: Date, stepMs: number, firstId = 0): ApiRecord[] {
  return Array.from({ length: count }, (_, index) => {
    const id = firstId + index;
    return {
      id,
      at: new Date(from.getTime() + index * stepMs).toISOString(),
      host: HOSTS[id % HOSTS.length],
      level: LEVELS[id % LEVELS.length],
      load: (id % 17) / 4,
      took: { ms: (id * 37) % 500 },
      bytes: 100 + id,
      tags: [`t${id % 2}`, 'all'],
    };
  });
}
