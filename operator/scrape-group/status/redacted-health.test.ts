import { expect, test } from 'vitest';
import { connectionsOf } from '../group/connections.ts';
import { hiddenPlaces, redactedHealth } from './redacted-health.ts';
import { source } from '../testing/sources.ts';
import { uncheckedResolver } from '../../validation/known-values.ts';
import type { SourceHealth } from './health.ts';

const failed = (lastError: string): SourceHealth => ({ name: 'a', lastError }) as unknown as SourceHealth;

test('O23: the status of a source has the placeholder of a host that only the pods know, and codes of errors', () => {
  const env = [{ name: 'S', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }];
  const hidden = source('hidden', { env, source: { baseUrl: 'http://me:pw@${S}.example.com' } });
  const known = source('known', { source: { baseUrl: 'http://known.example.com' } });
  const entries = [hidden, known].map(({ metadata, spec }) => ({
    resource: metadata.name,
    entry: uncheckedResolver(spec)(spec.source),
  }));
  const places = hiddenPlaces(connectionsOf({ otelCollectorEndpoint: 'http://collector:4317' }, entries));
  expect([...places]).toEqual([['hidden', ['spec', 'source', 'baseUrl']]]);
  const redacted = redactedHealth(
    failed('network: GET: getaddrinfo EAI_AGAIN salary-abc123.example.com'),
    hidden,
    places.get('hidden') ?? [],
  );
  expect(redacted.lastError).toBe('EAI_AGAIN at http://<redacted>@${S}.example.com');
});
