import { expect, test } from 'vitest';
import { BLOCK_LOOPBACK } from '../../crds/runtime/guarded-connect.ts';
import { withoutLoopback, withSidecarDefaults } from './sidecars.ts';

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
  const told = { name: 'adapter', env: [...env, { name: BLOCK_LOOPBACK, value: 'true' }] };
  expect(withoutLoopback({ containers: [alone] }, 'adapter')).toEqual({ containers: [told] });
  const init = { name: 'init' };
  expect(withoutLoopback({ containers: [alone], initContainers: [init] }, 'adapter')).toEqual({
    containers: [told],
    initContainers: [init],
  });
  const side = { name: 'side', restartPolicy: 'Always' };
  const quiet = { name: 'adapter', env };
  expect(withoutLoopback({ containers: [alone, side] }, 'adapter')).toEqual({ containers: [quiet, side] });
  expect(withoutLoopback({ containers: [alone], initContainers: [side] }, 'adapter')).toEqual({
    containers: [quiet],
    initContainers: [side],
  });
});
