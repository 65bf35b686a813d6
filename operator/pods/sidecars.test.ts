import { expect, test } from 'vitest';
import { withSidecarDefaults } from './sidecars.ts';

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
