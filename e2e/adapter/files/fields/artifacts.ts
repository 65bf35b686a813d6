import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { contentOf } from '../../../support/file-tools.ts';
import { asObject } from '../../../support/scripted-upstream/json-rpc.ts';
import { artifactOf, readResource, resourceUris } from '../kit/artifacts.ts';
import type { Scene } from '../kit/with-adapter.ts';
import { type FieldTest, injected, isFailed, later, write } from './field-test.ts';

/** Section 2.7 of the specification. */
export function artifactsFields(field: FieldTest): void {
  field('artifacts.enabled', [
    { config: { artifacts: { enabled: false }, uploads: { enabled: false } }, entries: injected },
    async ({ root, door, lying, session }) => {
      const path = join(root, 'its-own.bin');
      const message = await door.tool('write_file', { output_path: path, seed: 'own' });
      expect(asObject(message.result)._meta).toBeUndefined();
      expect((await readFile(path)).equals(contentOf('own', 1_000))).toBe(true);
      expect(await lying()).toEqual([]);
      expect(asObject(session.initialized.capabilities).resources).toBeUndefined();
    },
  ]);

  const readAfter = async ({ door }: Scene, seconds: readonly number[]): Promise<boolean[]> => {
    const { uri } = artifactOf(await write(door));
    const read: boolean[] = [];
    for (const wait of seconds) {
      later(wait);
      read.push((await readResource(door, uri)) !== undefined);
    }
    return read;
  };
  field(
    'artifacts.ttl_seconds',
    [{}, async (scene) => expect(await readAfter(scene, [590, 590, 610])).toEqual([true, true, false])],
    [
      { config: { artifacts: { ttl_seconds: 10 } } },
      async (scene) => expect(await readAfter(scene, [9, 11])).toEqual([true, false]),
    ],
    [
      { config: { artifacts: { ttl_seconds: null } } },
      async (scene) => expect(await readAfter(scene, [1_000_000])).toEqual([true]),
    ],
  );
  field('artifacts.max_per_session', [
    { config: { artifacts: { max_per_session: 1 } } },
    async ({ door, lying }) => {
      artifactOf(await write(door));
      const second = await write(door);
      expect(isFailed(second)).toBe(true);
      expect(await lying()).toHaveLength(1);
    },
  ]);
  field(
    'artifacts.expose_as_resources',
    [
      {},
      async ({ door }) => {
        const { uri } = artifactOf(await write(door));
        expect(await resourceUris(door)).toContain(uri);
        expect(await readResource(door, uri)).toBeDefined();
      },
    ],
    [
      { config: { artifacts: { expose_as_resources: false } } },
      async ({ door }) => {
        const { uri } = artifactOf(await write(door));
        expect(await resourceUris(door)).not.toContain(uri);
        expect(await readResource(door, uri)).toBeUndefined();
      },
    ],
  );
  field('artifacts.uri_scheme', [
    { config: { artifacts: { uri_scheme: 'made://' } } },
    async ({ door, session }) => {
      const { uri, id } = artifactOf(await write(door));
      expect(uri).toBe(`made://sessions/${session.sessionId}/${id}/out.bin`);
      expect((await readResource(door, uri))?.length).toBe(1_000);
    },
  ]);
}
