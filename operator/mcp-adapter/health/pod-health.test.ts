import { describe, expect, it } from 'vitest';
import { parseHealth } from './pod-health.ts';

describe('a health object', () => {
  it('tells of upstreams, the state store and references', () => {
    const found = parseHealth('p', {
      servers: [
        { server_id: 'a', status: 'degraded', ping: { last_error: 'refused' } },
        { server_id: 'b', status: 'ok', file_rules: [{ entry: 1, reason: 'no_tool' }, { entry: 'x' }, null] },
        { no: 'id' },
        null,
      ],
      persistence: { status: 'degraded', detail: 'redis_unhealthy' },
      references: { changed: true },
      issuers: [{ issuer: 'https://id', keys: 'known', detail: 'x' }, { issuer: 'https://b', keys: 'new word' }, 1],
      warnings: ['open_to_all', 1],
    });
    expect(found).toEqual({
      pod: 'p',
      servers: [
        { id: 'a', mountPath: undefined, healthy: false, detail: 'refused' },
        { id: 'b', mountPath: undefined, healthy: true, fileRules: [{ entry: 1, reason: 'no_tool' }] },
      ],
      stateStore: { healthy: false, detail: 'redis_unhealthy' },
      issuers: [{ issuer: 'https://id', keys: 'known' }],
      referencesChanged: true,
      warnings: ['open_to_all'],
    });
  });

  it('tells whether there are issuers at all', () => {
    expect(parseHealth('p', { servers: [] })?.issuers).toBeUndefined();
  });

  it.each([null, [], 'x', {}, { servers: 'x' }])('is none: %j', (body) => {
    expect(parseHealth('p', body)).toBeUndefined();
  });
});
