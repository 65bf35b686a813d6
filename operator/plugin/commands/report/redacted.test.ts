import { expect, test } from 'vitest';
import { Redactor } from './redacted.ts';

const canary = (name: string): string => `canary-${name}-8d1f6b2e`;
const resource = {
  apiVersion: 'mcpadapter.io/v1alpha1',
  kind: 'McpAdapter',
  metadata: {
    name: 'it',
    namespace: 'team',
    uid: canary('uid'),
    annotations: {
      'kubectl.kubernetes.io/last-applied-configuration': canary('applied'),
      'mcpadapter.io/restartedAt': 'x',
    },
  },
  spec: {
    replicas: 2,
    env: [
      { name: 'A', value: canary('variable') },
      { name: 'B', valueFrom: { secretKeyRef: { name: 'secrets', key: 'b' } } },
    ],
    config: {
      core: { auth: { token: canary('token'), signing_secret: '${SIGNING}', header_name: 'X-Auth' } },
      servers: [
        {
          id: 'one',
          upstream: {
            url: `https://user:${canary('password')}@example.com/mcp?api_key=${canary('query')}`,
            static_headers: { 'X-Any': canary('header'), Authorization: `Bearer ${canary('bearer')}` },
          },
        },
      ],
    },
    podOverlay: { spec: { note: canary('overlay') } },
  },
  status: { conditions: [] },
};

test('a resource keeps what it is, and nothing that only its owner may know', () => {
  const redactor = new Redactor();
  const text = JSON.stringify(redactor.resource(resource));
  expect(text).not.toMatch(/canary-/);
  for (const kept of [
    '"replicas":2',
    'header_name":"X-Auth',
    '${SIGNING}',
    'secretKeyRef',
    'example.com',
    'restartedAt',
  ]) {
    expect(text).toContain(kept);
  }
});

test('what was hidden is hidden elsewhere, too', () => {
  const redactor = new Redactor();
  redactor.resource(resource);
  for (const name of ['variable', 'token', 'password', 'header', 'bearer']) {
    expect(redactor.scrub(`it said ${canary(name)}.`)).toBe('it said <redacted>.');
  }
  expect(redactor.scrub('it said nothing')).toBe('it said nothing');
});
