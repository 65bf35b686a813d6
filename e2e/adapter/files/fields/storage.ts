import { mkdtemp, rm, stat, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { JsonObject } from '../../../support/scripted-upstream/json-rpc.ts';
import { eventually } from '../../kit/eventually.ts';
import { artifactError, artifactOf } from '../kit/artifacts.ts';
import { leaveOrphan } from '../kit/folder.ts';
import { startHalfUpload } from '../kit/half-upload.ts';
import { formFile, upload, uploadedOne } from '../kit/uploads.ts';
import type { Scene } from '../kit/with-adapter.ts';
import { type Case, type FieldTest, producer, write } from './field-test.ts';

/** Section 2.4 of the specification. */
export function storageFields(field: FieldTest): void {
  field('storage.root', [
    {},
    async ({ root, session, adapter, door }) => {
      const { id } = await uploadedOne(adapter, session.sessionId, 'a');
      await stat(join(root, 'uploads/sessions', session.sessionId, id, 'a'));
      const artifact = artifactOf(await write(door));
      await stat(join(root, 'artifacts/sessions', session.sessionId, artifact.id, 'out.bin'));
    },
  ]);

  const folders = async ({ adapter, session, door, lying }: Scene): Promise<string[]> => {
    await uploadedOne(adapter, session.sessionId, 'a');
    artifactOf(await write(door));
    return (await lying()).map(({ path }) => path.slice(0, path.indexOf(`/${session.sessionId}/`)));
  };
  field(
    'storage.layout',
    [{}, async (scene) => expect(await folders(scene)).toEqual(['artifacts/sessions', 'uploads/sessions'])],
    [
      { config: { storage: { layout: 'per_server' } } },
      async (scene) => expect(await folders(scene)).toEqual(['artifacts/up/sessions', 'uploads/up/sessions']),
    ],
  );

  const sizes = async ({ adapter, session }: Scene): Promise<unknown[]> => [
    (await upload(adapter, session.sessionId, [formFile('a', 600)])).status,
    (await upload(adapter, session.sessionId, [formFile('b', 600)])).status,
  ];
  field(
    'storage.max_size',
    [{ config: { storage: { max_size: 1_000 } } }, async (scene) => expect(await sizes(scene)).toEqual([200, 507])],
    [{ config: { storage: { max_size: null } } }, async (scene) => expect(await sizes(scene)).toEqual([200, 200])],
  );

  const nameWhileItArrives = async ({ root, adapter, session, lying }: Scene): Promise<string> => {
    const slow = startHalfUpload(adapter, session.sessionId, 200_000);
    await slow.begun(root);
    const [first] = await lying();
    expect(await slow.finish()).toMatchObject([200, {}]);
    return basename(first?.path ?? '');
  };
  field(
    'storage.atomic_writes',
    [{}, async (scene) => expect(await nameWhileItArrives(scene)).toMatch(/^\.slow\.bin\..+\.tmp$/)],
    [
      { config: { storage: { atomic_writes: false } } },
      async (scene) => expect(await nameWhileItArrives(scene)).toBe('slow.bin'),
    ],
  );

  const modes = async ({ root, adapter, session }: Scene): Promise<string[]> => {
    const { id } = await uploadedOne(adapter, session.sessionId, 'a');
    const path = join(root, 'uploads/sessions', session.sessionId, id, 'a');
    return await Promise.all([dirname(path), path].map(async (one) => ((await stat(one)).mode & 0o777).toString(8)));
  };
  field(
    'storage.access',
    [{}, async (scene) => expect(await modes(scene)).toEqual(['770', '660'])],
    [{ config: { storage: { access: 'owner' } } }, async (scene) => expect(await modes(scene)).toEqual(['700', '600'])],
    [{ config: { storage: { access: 'all' } } }, async (scene) => expect(await modes(scene)).toEqual(['777', '666'])],
  );

  /** Resolves when the cleanup has gone round: an old orphan, or an upload without time to live, is gone, twice. */
  async function cleanups({ adapter, session, lying }: Scene): Promise<void> {
    for (let pass = 0; pass < 2; pass += 1) {
      const { id } = await uploadedOne(adapter, session.sessionId, 'short');
      await eventually(async () => (await lying()).some(({ path }) => path.includes(id)), 20).toBe(false);
    }
  }
  const cleaning = { core: { cleanup_interval_seconds: 0.02 }, uploads: { ttl_seconds: 0.001 } };
  const hexId = (): string => randomUUID().replaceAll('-', '');
  field(
    'storage.orphan_sweeper_enabled',
    [
      { config: cleaning },
      async (scene) => {
        const orphan = await leaveOrphan(scene.root, 'artifact', hexId(), hexId());
        await eventually(() => stat(orphan).then(Boolean, () => false), 20).toBe(false);
      },
    ],
    [
      { config: { ...cleaning, storage: { orphan_sweeper_enabled: false } } },
      async (scene) => {
        const orphan = await leaveOrphan(scene.root, 'artifact', hexId(), hexId());
        await cleanups(scene);
        await stat(orphan);
      },
    ],
  );
  field('storage.orphan_sweeper_grace_seconds', [
    { config: { ...cleaning, storage: { orphan_sweeper_grace_seconds: 600 } } },
    async ({ root }) => {
      const old = await leaveOrphan(root, 'artifact', hexId(), hexId());
      const young = await leaveOrphan(root, 'artifact', hexId(), hexId());
      const now = new Date();
      await utimes(young, now, now);
      await eventually(() => stat(old).then(Boolean, () => false), 20).toBe(false);
      await stat(young);
    },
  ]);

  /** Locks of files are files, too. */
  const locksByFile = async ({ root, adapter, session, door }: Scene): Promise<boolean> => {
    await uploadedOne(adapter, session.sessionId, 'a');
    artifactOf(await write(door));
    return await stat(join(root, 'state/locks')).then(
      () => true,
      () => false,
    );
  };
  const mode = (lock_mode: string, locks: boolean): Case => [
    { config: { storage: { lock_mode } } },
    async (scene) => expect([lock_mode, await locksByFile(scene)]).toEqual([lock_mode, locks]),
  ];
  field('storage.lock_mode', mode('none', false), mode('process', false), mode('file', true), mode('auto', true));

  const structured = producer({ output_locator: { mode: 'structured', output_path_key: 'file.path' } });
  const elsewhere = async ({ door }: Scene): Promise<JsonObject> => {
    const folder = await mkdtemp(join(tmpdir(), 'extra-root-'));
    try {
      return await door.tool('write_elsewhere', { at: join(folder, 'made.bin') });
    } finally {
      await rm(folder, { recursive: true });
    }
  };
  const roots = { artifact_locator_policy: 'allow_configured_roots', artifact_locator_allowed_roots: [tmpdir()] };
  field(
    'storage.artifact_locator_policy',
    [
      { entries: structured, config: { storage: { ...roots, artifact_locator_policy: 'storage_only' } } },
      async (scene) =>
        expect(artifactError(await elsewhere(scene))).toMatchObject({ code: expect.any(String) as string }),
    ],
    [
      { entries: structured, config: { storage: roots } },
      async (scene) => expect(artifactOf(await elsewhere(scene))).toMatchObject({ filename: 'made.bin', size: 1_000 }),
    ],
  );
  field('storage.artifact_locator_allowed_roots', [
    { entries: structured, config: { storage: { ...roots, artifact_locator_allowed_roots: ['/usr'] } } },
    async (scene) =>
      expect(artifactError(await elsewhere(scene))).toMatchObject({ code: expect.any(String) as string }),
  ]);
}
