import { describe, expect, test } from 'vitest';
import { listAt, textAt } from '../../kubernetes/unstructured.ts';
import { check } from '../check/check.ts';
import { effectiveConfig } from '../config/effective-config.ts';
import { adapterWith, contextOf } from '../testing/golden-resources.ts';
import { podTemplate } from './pod-template.ts';

const server = (id: string, url = `http://${id}:8000/mcp`) => ({ id, mount_path: `/${id}`, upstream: { url } });
const PER_SERVER = {
  storage: { layout: 'per_server' },
  servers: [server('one', 'http://127.0.0.1:81/'), server('two'), server('three/3', 'https://localhost/')],
};

/** `path ← volume/folder` of the mounts of a container, those of the storage only. */
function mounts(name: string, overlay: Record<string, unknown>, config: Record<string, unknown> = {}, spec = {}) {
  const adapter = adapterWith({ podOverlay: { spec: overlay }, ...spec }, config);
  const template = podTemplate(adapter, effectiveConfig(adapter.spec), contextOf(), 'hash');
  const containers = ['initContainers', 'containers'].flatMap((list) => listAt(template, 'spec', list));
  const container = containers.find((one) => textAt(one, 'name') === name);
  return listAt(container, 'volumeMounts')
    .filter((mount) => !['config', 'tmp'].includes(textAt(mount, 'name') ?? ''))
    .map((mount) => `${textAt(mount, 'mountPath')} ← ${textAt(mount, 'name')}/${textAt(mount, 'subPath') ?? ''}`);
}

const sidecar = (volumeMounts: object[], more = {}) => ({ name: 'side', image: 'x', volumeMounts, ...more });
const whole = { name: 'storage', mountPath: '/data/shared' };

describe('T7: the adapter', () => {
  test('has its state as a mount of its own, in the claim where it always was', () => {
    expect(mounts('adapter', {})).toEqual(['/data/shared ← storage/', '/data/shared/state ← storage/state']);
    expect(mounts('adapter', {}, { storage: { root: '/files/' } })).toEqual([
      '/files ← storage/',
      '/files/state ← storage/state',
    ]);
  });

  test('has its state in the volume that the user has put in the place of the storage', () => {
    const volumes = [{ name: 'mine', emptyDir: {} }];
    const at = (mount: object) =>
      mounts('adapter', { volumes, containers: [{ name: 'adapter', volumeMounts: [mount] }] });
    expect(at({ name: 'mine', mountPath: '/data/shared' })).toContain('/data/shared/state ← mine/state');
    expect(at({ name: 'mine', mountPath: '/data/shared', subPath: 'a' })).toContain(
      '/data/shared/state ← mine/a/state',
    );
    // What folder that is, nobody knows before the pod runs.
    expect(at({ name: 'mine', mountPath: '/data/shared', subPathExpr: '$(A)' })).toEqual(['/data/shared ← mine/']);
    expect(at({ name: 'mine', mountPath: '/data/shared/state' })).toEqual([
      '/data/shared ← storage/',
      '/data/shared/state ← mine/',
    ]);
  });
});

describe('T7: a sidecar', () => {
  test.each(['containers', 'initContainers'])(
    'that mounts the storage gets the files and not the state: %s',
    (list) => {
      expect(mounts('side', { [list]: [sidecar([whole])] })).toEqual([
        '/data/shared/artifacts ← storage/artifacts',
        '/data/shared/uploads ← storage/uploads',
      ]);
    },
  );

  test.each([{ subPath: '.' }, { subPath: './' }, { subPath: '' }])('whatever it calls all of it: %j', (more) => {
    expect(mounts('side', { containers: [sidecar([{ ...whole, ...more }])] })).toEqual([
      '/data/shared/artifacts ← storage/artifacts',
      '/data/shared/uploads ← storage/uploads',
    ]);
  });

  test('that brings the claim as a volume of its own gets no more', () => {
    const volumes = [{ name: 'same', persistentVolumeClaim: { claimName: 'sample-storage' } }];
    const containers = [sidecar([{ ...whole, name: 'same' }])];
    const spec = { storage: { claim: { size: '1Gi' } } };
    expect(mounts('side', { volumes, containers }, {}, spec)).toEqual([
      '/data/shared/artifacts ← same/artifacts',
      '/data/shared/uploads ← same/uploads',
    ]);
  });

  test('keeps mounts of a folder, and of other volumes', () => {
    const own = [
      { ...whole, subPath: 'uploads' },
      { name: 'browser', mountPath: '/home' },
    ];
    expect(mounts('side', { containers: [sidecar(own)] })).toEqual([
      '/data/shared ← storage/uploads',
      '/home ← browser/',
    ]);
  });

  test('gets the folders that tools may leave files in, too', () => {
    const roots = [
      '/data/shared/out',
      '/data/shared/state',
      '/data/shared/uploads/x',
      '/data/shared',
      '/else',
      '/data/sharedx',
    ];
    const storage = { artifact_locator_policy: 'allow_configured_roots', artifact_locator_allowed_roots: roots };
    expect(mounts('side', { containers: [sidecar([whole])] }, { storage })).toEqual([
      '/data/shared/artifacts ← storage/artifacts',
      '/data/shared/uploads ← storage/uploads',
      '/data/shared/out ← storage/out',
    ]);
  });

  test.each([
    ['has the port of a server', { ports: [{ containerPort: 81 }] }, ['one']],
    ['is called like a server', { name: 'two' }, ['two']],
    ['has the port of HTTPS', { ports: [{ containerPort: 443 }] }, ['three%2F3']],
    ['has the port of a server elsewhere', { ports: [{ containerPort: 8000 }] }, []],
    ['is no server', {}, []],
  ])('that %s gets, with folders for each server, those of %s', (_, more, ids) => {
    const container = sidecar([whole], more);
    const expected = ['artifacts', 'uploads'].flatMap((tree) =>
      ids.length === 0 ? [tree] : ids.map((id) => `${tree}/${id}`),
    );
    expect(mounts(container.name, { containers: [container] }, PER_SERVER)).toEqual(
      expected.map((folder) => `/data/shared/${folder} ← storage/${folder}`),
    );
  });
});

test('T7: the folders of all servers are made before the first one’s is, which could make them for root alone', () => {
  const made = { initContainers: [sidecar([whole], { name: 'two' })] };
  expect(mounts('storage-folders', made, PER_SERVER)).toEqual([
    '/data/shared/artifacts ← storage/artifacts',
    '/data/shared/uploads ← storage/uploads',
  ]);
  const adapter = adapterWith({ podOverlay: { spec: made } }, PER_SERVER);
  const template = podTemplate(adapter, effectiveConfig(adapter.spec), contextOf(), 'hash');
  expect(listAt(template, 'spec', 'initContainers').map((one) => textAt(one, 'name'))).toEqual([
    'storage-folders',
    'two',
  ]);
  expect(mounts('storage-folders', made)).toEqual([]);
});

describe('T7: a resource is refused whose sidecar mounts the state', () => {
  const problems = (overlay: object, spec = {}): string[] => {
    const adapter = adapterWith({ podOverlay: { spec: overlay }, ...spec });
    const checked = check({ ...adapter }, { httpRoutes: true });
    return checked.ok ? [] : checked.problems.map(({ path, message }) => `${path} ${message}`);
  };
  const at = 'spec.podOverlay.spec.containers[0].volumeMounts[0]';

  test.each(['state', './state', 'state/', 'state/locks', 'uploads/../state'])('as %s', (subPath) => {
    expect(problems({ containers: [sidecar([{ ...whole, subPath }])] })).toEqual([
      `${at} mounts the state, which is the adapter’s alone; mount uploads or artifacts, or leave subPath out to get both`,
    ]);
  });

  test('by a variable, or by the claim itself', () => {
    expect(problems({ containers: [sidecar([{ ...whole, subPathExpr: '$(X)' }])] })).toEqual([
      expect.stringContaining(`${at} must name its folder`),
    ]);
    const volumes = [{ name: 'same', persistentVolumeClaim: { claimName: 'nfs' } }];
    const containers = [sidecar([{ name: 'same', mountPath: '/x', subPath: 'state' }])];
    expect(problems({ volumes, containers }, { storage: { existingClaim: 'nfs' } })).toHaveLength(1);
    expect(problems({ volumes, containers })).toEqual([expect.stringContaining('--pod-overlay=all')]);
    const own = [{ name: 'same', persistentVolumeClaim: { claimName: 'sample-storage' } }];
    expect(problems({ volumes: own, initContainers: containers })).toEqual([
      expect.stringMatching(/^spec\.podOverlay\.spec\.initContainers\[0\]\.volumeMounts\[0\] mounts the state/),
    ]);
  });

  test('but not one that mounts files, or the adapter itself', () => {
    const containers = [
      sidecar([{ ...whole, subPath: 'artifacts/state' }]),
      { name: 'adapter', volumeMounts: [{ ...whole, subPath: 'state' }] },
    ];
    expect(problems({ containers })).toEqual([]);
  });
});
