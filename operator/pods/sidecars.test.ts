import { expect, test } from 'vitest';
import { BLOCK_API_SERVER, BLOCK_LOOPBACK } from '../../lib/net/guarded-connect.ts';
import { withConnectRules, withSidecarDefaults } from './sidecars.ts';

const unprivileged = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } };
const complete = (spec: Record<string, unknown>) => withSidecarDefaults(spec, 'adapter', 'mcp:1');

test('a sidecar runs from the image of the adapter and has no privileges, unless it says otherwise', () => {
  const own = { name: 'own', image: 'other:2', securityContext: { runAsUser: 0 } };
  expect(complete({ containers: [{ name: 'adapter' }, { name: 'up', command: ['x'] }, own], volumes: [] })).toEqual({
    containers: [
      { name: 'adapter' },
      { name: 'up', image: 'mcp:1', securityContext: unprivileged, command: ['x'] },
      own,
    ],
    volumes: [],
  });
});

test('so does an init container; a pod without any gets none', () => {
  expect(complete({ initContainers: [{ name: 'init' }] })).toEqual({
    initContainers: [{ name: 'init', image: 'mcp:1', securityContext: unprivileged }],
  });
  expect(complete({})).toEqual({});
});

test('T5: a container that is alone in its pod is told so, whatever users say of it; beside a sidecar it is not', () => {
  const alone = {
    name: 'adapter',
    env: [
      { name: 'A', value: '1' },
      { name: BLOCK_LOOPBACK, value: 'no' },
    ],
  };
  const env = [{ name: 'A', value: '1' }];
  const withRule = { name: 'adapter', env: [...env, { name: BLOCK_LOOPBACK, value: 'true' }] };
  expect(withConnectRules({ containers: [alone] }, 'adapter', undefined)).toEqual({ containers: [withRule] });
  const init = { name: 'init' };
  expect(withConnectRules({ containers: [alone], initContainers: [init] }, 'adapter', undefined)).toEqual({
    containers: [withRule],
    initContainers: [init],
  });
  const side = { name: 'side', restartPolicy: 'Always' };
  const quiet = { name: 'adapter', env };
  expect(withConnectRules({ containers: [alone, side] }, 'adapter', undefined)).toEqual({ containers: [quiet, side] });
  expect(withConnectRules({ containers: [alone], initContainers: [side] }, 'adapter', undefined)).toEqual({
    containers: [quiet],
    initContainers: [side],
  });
});

test('O17 T5: a container is told what the API server is called, unless it may connect to it', () => {
  const users = [{ name: BLOCK_API_SERVER, value: '' }];
  const spec = { containers: [{ name: 'adapter', env: users }, { name: 'side' }] };
  const withRule = [{ name: BLOCK_API_SERVER, value: 'kubernetes.default.svc,10.96.0.1' }];
  expect(withConnectRules(spec, 'adapter', ['10.96.0.1'])).toEqual({
    containers: [{ name: 'adapter', env: withRule }, { name: 'side' }],
  });
  expect(withConnectRules(spec, 'adapter', undefined)).toEqual({
    containers: [{ name: 'adapter', env: [] }, { name: 'side' }],
  });
});
