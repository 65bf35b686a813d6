import { describe, expect, test } from 'vitest';
import { overlay } from './overlay.ts';

const pod = {
  containers: [
    {
      name: 'adapter',
      args: ['--config', 'file'],
      env: [
        { name: 'A', value: '1' },
        { name: 'B', value: '2' },
      ],
      ports: [{ name: 'http', containerPort: 1, protocol: 'TCP' }],
      volumeMounts: [{ name: 'tmp', mountPath: '/tmp' }],
      readinessProbe: { httpGet: { path: '/readyz', port: 'http' }, periodSeconds: 5 },
      securityContext: { capabilities: { drop: ['ALL'] }, readOnlyRootFilesystem: true },
    },
  ],
  volumes: [
    { name: 'tmp', emptyDir: {} },
    { name: 'storage', persistentVolumeClaim: { claimName: 'c' } },
  ],
  terminationGracePeriodSeconds: 30,
};
const [container] = pod.containers;

const withAdapter = (patch: object) => overlay(pod, { containers: [{ name: 'adapter', ...patch }] });
const adapterIs = (changed: object) => ({ ...pod, containers: [{ ...container, ...changed }] });

describe('an overlay', () => {
  test('of nothing changes nothing', () => expect(overlay(pod, {})).toEqual(pod));

  test('sets, changes and removes fields, known or not', () => {
    expect(overlay(pod, { hostUsers: false, future: { field: 1 }, terminationGracePeriodSeconds: null })).toEqual({
      containers: pod.containers,
      volumes: pod.volumes,
      hostUsers: false,
      future: { field: 1 },
    });
    expect(withAdapter({ securityContext: { runAsUser: 7, readOnlyRootFilesystem: null } })).toEqual(
      adapterIs({ securityContext: { capabilities: { drop: ['ALL'] }, runAsUser: 7 } }),
    );
  });

  test('adds containers after ours', () => {
    const sidecar = { name: 'upstream', image: 'x', volumeMounts: [{ name: 'storage', mountPath: '/files' }] };
    expect(overlay(pod, { containers: [sidecar] })).toEqual({ ...pod, containers: [container, sidecar] });
    expect(overlay(pod, { initContainers: [sidecar] })).toEqual({ ...pod, initContainers: [sidecar] });
  });

  test('merges variables, ports and mounts by name and path', () => {
    expect(
      withAdapter({
        env: [
          { name: 'C', value: '3' },
          { name: 'A', value: '4' },
        ],
      }),
    ).toEqual(
      adapterIs({
        env: [
          { name: 'A', value: '4' },
          { name: 'B', value: '2' },
          { name: 'C', value: '3' },
        ],
      }),
    );
    expect(withAdapter({ ports: [{ name: 'http', hostPort: 80 }, { containerPort: 9 }] })).toEqual(
      adapterIs({ ports: [{ name: 'http', containerPort: 1, protocol: 'TCP', hostPort: 80 }, { containerPort: 9 }] }),
    );
    expect(
      withAdapter({
        volumeMounts: [
          { name: 'big', mountPath: '/tmp' },
          { name: 'x', mountPath: '/x' },
        ],
      }),
    ).toEqual(
      adapterIs({
        volumeMounts: [
          { name: 'big', mountPath: '/tmp' },
          { name: 'x', mountPath: '/x' },
        ],
      }),
    );
  });

  test('replaces lists of texts and adds to lists without names', () => {
    expect(withAdapter({ args: ['--help'] })).toEqual(adapterIs({ args: ['--help'] }));
    const base = { tolerations: [{ key: 'a' }] };
    expect(overlay(base, { tolerations: [{ key: 'b' }] })).toEqual({ tolerations: [{ key: 'a' }, { key: 'b' }] });
  });

  test('gives a volume another source, or more of the same', () => {
    expect(overlay(pod, { volumes: [{ name: 'storage', emptyDir: {} }] })).toEqual({
      ...pod,
      volumes: [pod.volumes[0], { name: 'storage', emptyDir: {} }],
    });
    expect(overlay(pod, { volumes: [{ name: 'tmp', emptyDir: { medium: 'Memory' } }] })).toEqual({
      ...pod,
      volumes: [{ name: 'tmp', emptyDir: { medium: 'Memory' } }, pod.volumes[1]],
    });
  });

  test('gives a variable another source, and a probe another handler', () => {
    const valueFrom = { secretKeyRef: { name: 's', key: 'k' } };
    expect(withAdapter({ env: [{ name: 'A', valueFrom }] })).toEqual(
      adapterIs({
        env: [
          { name: 'A', valueFrom },
          { name: 'B', value: '2' },
        ],
      }),
    );
    expect(withAdapter({ readinessProbe: { exec: { command: ['true'] } } })).toEqual(
      adapterIs({ readinessProbe: { periodSeconds: 5, exec: { command: ['true'] } } }),
    );
    expect(withAdapter({ readinessProbe: { httpGet: { path: '/other' } } })).toEqual(
      adapterIs({ readinessProbe: { httpGet: { path: '/other', port: 'http' }, periodSeconds: 5 } }),
    );
  });

  test('removes an entry of a list', () => {
    expect(
      withAdapter({
        env: [
          { name: 'B', $patch: 'delete' },
          { name: 'Z', $patch: 'delete' },
        ],
      }),
    ).toEqual(adapterIs({ env: [{ name: 'A', value: '1' }] }));
  });

  test('leaves what it is laid over as it was, and null where there was nothing', () => {
    const before = structuredClone(pod);
    overlay(pod, { containers: [{ name: 'adapter', env: [{ name: 'A', value: 'x' }] }], volumes: null, none: null });
    expect(pod).toEqual(before);
    expect(overlay(pod, { none: null, deep: { none: null, some: 1 } })).toEqual({ ...pod, deep: { some: 1 } });
  });

  test('of any shape does no harm', () => {
    expect(overlay(pod, { containers: 'none' })).toEqual({ ...pod, containers: 'none' });
    expect(overlay({ containers: 'none' }, { containers: [7, null, { name: 'a' }] })).toEqual({
      containers: [7, null, { name: 'a' }],
    });
    const odd = JSON.parse('{"__proto__": {"polluted": true}}') as object;
    expect(JSON.stringify(overlay({}, odd))).toBe('{"__proto__":{"polluted":true}}');
    expect('polluted' in {}).toBe(false);
  });
});
