import { describe, expect, it } from 'vitest';
import { parseHealth } from './pod-health.ts';

describe('a health object', () => {
  it('tells of upstreams, the state store and references', () => {
    const found = parseHealth('p', {
      servers: [{ server_id: 'a', status: 'degraded', ping: { last_error: 'refused' } }, { no: 'id' }, null],
      persistence: { status: 'degraded', detail: 'redis_unhealthy' },
      references: { changed: true },
      warnings: ['open_to_all', 1],
    });
    expect(found).toEqual({
      pod: 'p',
      servers: [{ id: 'a', mountPath: undefined, healthy: false, detail: 'refused' }],
      stateStore: { healthy: false, detail: 'redis_unhealthy' },
      referencesChanged: true,
      warnings: ['open_to_all'],
    });
  });

  it.each([null, [], 'x', {}, { servers: 'x' }])('is none: %j', (body) => {
    expect(parseHealth('p', body)).toBeUndefined();
  });
});
