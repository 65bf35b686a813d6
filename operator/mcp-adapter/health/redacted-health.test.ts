import { expect, test } from 'vitest';
import { effectiveConfig } from '../config/effective-config.ts';
import { adapterWith } from '../testing/golden-resources.ts';
import { redactedHealth } from './redacted-health.ts';
import { healthWith } from '../testing/observed.ts';
import { upstreamsOf } from '../status/upstream-health.ts';

const secret = (name: string) => ({ name, valueFrom: { secretKeyRef: { name: 's', key: 'k' } } });
const { spec } = adapterWith(
  { env: [secret('S'), { name: 'KNOWN', value: 'known' }] },
  {
    servers: [
      { id: 'hidden', mount_path: '/h', upstream: { url: 'http://${S}.example.com/mcp' } },
      { id: 'written', mount_path: '/w', upstream: { url: 'http://${KNOWN}.example.com/mcp' } },
      { id: '${S}', mount_path: '/i', upstream: { url: 'http://a.example.com/mcp' } },
    ],
    state_persistence: { type: 'redis', redis: { host: '${S}' } },
  },
);
const server = (id: string, detail: string) => ({ id, mountPath: '/x', healthy: false, detail });

test('O23: a status has the placeholder of a value that only the pods know, and codes of errors', () => {
  const health = healthWith([], {
    servers: [
      server('hidden', 'getaddrinfo EAI_AGAIN salary-abc123.example.com'),
      server('written', 'getaddrinfo ENOTFOUND known.example.com'),
      server('salary-abc123', 'connect ECONNREFUSED salary-abc123:80'),
    ],
    stateStore: { healthy: false, detail: 'SALARY_ABC123 refused: ECONNRESET' },
  });
  const redacted = redactedHealth([health], spec, effectiveConfig(spec));
  expect(redacted[0]?.servers.map(({ detail }) => detail)).toEqual([
    'EAI_AGAIN at http://${S}.example.com/mcp',
    'getaddrinfo ENOTFOUND known.example.com',
    'ECONNREFUSED',
  ]);
  expect(redacted[0]?.stateStore.detail).toBe('ECONNRESET at ${S}');
  expect(upstreamsOf(redacted, [])[0]?.message).toBe(
    'does not answer 1 of 1 pod: EAI_AGAIN at http://${S}.example.com/mcp',
  );
});

test('O23: an error without a code is only called one', () => {
  const health = healthWith([], { servers: [server('hidden', 'HTTP 503 and SECRET words of UND_ERR_SOCKET')] });
  const [pod] = redactedHealth([health, health], spec, effectiveConfig(spec));
  expect(pod?.servers[0]?.detail).toBe('HTTP 503, UND_ERR_SOCKET at http://${S}.example.com/mcp');
  const wordless = healthWith([], { servers: [server('hidden', 'salary-abc123 is away')] });
  expect(redactedHealth([wordless], spec, effectiveConfig(spec))[0]?.servers[0]?.detail).toBe(
    'an error that its pod logs at http://${S}.example.com/mcp',
  );
});

test('O23: an issuer is named by its field where only the pods know it', () => {
  const oauth = (issuer: string) => ({ auth: { oauth: { issuer } } });
  const mount = { mount_path: '/a', upstream: { url: 'http://a/mcp' } };
  const named = (...issuers: string[]): string[] | undefined => {
    const servers = issuers.map((issuer, index) => ({ id: `s${index}`, ...mount, ...oauth(issuer) }));
    const adapter = adapterWith({ env: [secret('S'), { name: 'KNOWN', value: 'known' }] }, { servers });
    const told = ['https://salary-abc123', 'https://known/'].map((issuer) => ({ issuer, keys: 'known' as const }));
    const redacted = redactedHealth([healthWith([], { issuers: told })], adapter.spec, effectiveConfig(adapter.spec));
    return redacted[0]?.issuers?.map(({ issuer }) => issuer);
  };
  expect(named('https://${S}', 'https://${KNOWN}/')).toEqual([
    'spec.config.servers[0].auth.oauth.issuer',
    'https://known/',
  ]);
  expect(named('https://known/')).toEqual(['An issuer', 'https://known/']);
});
