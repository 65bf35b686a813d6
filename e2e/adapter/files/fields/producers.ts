import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { asObject, type JsonObject } from '../../../support/scripted-upstream/json-rpc.ts';
import { artifactError, artifactOf, readResource, resourceUris } from '../kit/artifacts.ts';
import { uploadedOne } from '../kit/uploads.ts';
import type { Scene } from '../kit/with-adapter.ts';
import { type FieldTest, injected, isFailed, PRODUCER, producer, write } from './field-test.ts';

/** Section 2.8, entries of type artifact_producer of the specification. */
export function producersFields(field: FieldTest): void {
  const blocks = (message: JsonObject): JsonObject[] => asObject(message.result).content as JsonObject[];
  const hasBytes = (message: JsonObject): boolean =>
    blocks(message).some(({ type, resource }) => type === 'resource' && typeof asObject(resource).blob === 'string');

  for (const name of ['type', 'tools', 'output_path_argument']) {
    field(`${PRODUCER}.${name}`, [
      { entries: injected },
      async ({ door, root }) => {
        expect(artifactOf(await write(door, 7))).toMatchObject({ filename: 'out.bin', size: 7 });
        const path = join(root, 'text.txt');
        const untouched = await door.tool('write_text', { output_path: path, text: 'as it was' });
        expect(asObject(untouched.result)._meta).toBeUndefined();
        expect(await readFile(path, 'utf8')).toBe('as it was');
      },
    ]);
  }

  const own = async ({ root, session, door, adapter }: Scene, says: string): Promise<JsonObject> => {
    // A folder of this session, where a tool may write.
    const { id } = await uploadedOne(adapter, session.sessionId, 'a');
    const at = join(root, 'uploads/sessions', session.sessionId, id, 'made.bin');
    return await door.tool('write_elsewhere', { at, says });
  };
  const located = (mode: string, more: JsonObject = {}) => producer({ output_locator: { mode, ...more } });
  const made = { filename: 'made.bin', size: 1_000 };
  field(
    `${PRODUCER}.output_locator.mode`,
    [
      { entries: located('structured', { output_path_key: 'file.path' }) },
      async (scene) => expect(artifactOf(await own(scene, 'structured'))).toMatchObject(made),
    ],
    [{ entries: located('regex') }, async (scene) => expect(artifactOf(await own(scene, 'text'))).toMatchObject(made)],
    [
      { entries: located('embedded') },
      async ({ door }) => expect(artifactOf(await door.tool('embed', { as: 'image' }))).toMatchObject({ size: 1_000 }),
    ],
    [
      { entries: located('none') },
      async (scene) => {
        for (const says of ['structured', 'text']) {
          expect(asObject((await own(scene, says)).result)._meta).toBeUndefined();
        }
        expect(asObject((await scene.door.tool('embed', { as: 'image' })).result)._meta).toBeUndefined();
      },
    ],
  );
  field(`${PRODUCER}.output_locator.output_path_key`, [
    { entries: located('structured', { output_path_key: 'somewhere.else' }) },
    async (scene) => expect(artifactError(await own(scene, 'structured'))).toBeDefined(),
  ]);
  field(
    `${PRODUCER}.output_locator.output_path_regexes`,
    [
      { entries: located('regex', { output_path_regexes: ['^no (.*)$', 'Saved the file to "(.*)"'] }) },
      async (scene) => expect(artifactOf(await own(scene, 'text'))).toMatchObject(made),
    ],
    [
      { entries: located('regex', { output_path_regexes: ['^no (.*)$'] }) },
      async (scene) => expect(artifactError(await own(scene, 'text'))).toBeDefined(),
    ],
  );
  field(`${PRODUCER}.persist`, [
    { entries: producer({ output_path_argument: 'output_path', persist: false }) },
    async ({ door, root, lying }) => {
      const path = join(root, 'kept.bin');
      const message = await door.tool('write_file', { output_path: path });
      expect(asObject(message.result)._meta).toBeUndefined();
      expect(await lying()).toEqual([]);
    },
  ]);
  field(
    `${PRODUCER}.expose_as_resource`,
    [
      { entries: producer({ output_path_argument: 'output_path', expose_as_resource: false }) },
      async ({ door }) => {
        const { uri } = artifactOf(await write(door));
        expect(await resourceUris(door)).not.toContain(uri);
        expect(await readResource(door, uri)).toBeUndefined();
      },
    ],
    [
      {
        config: { artifacts: { expose_as_resources: false } },
        entries: producer({ output_path_argument: 'output_path', expose_as_resource: true }),
      },
      async ({ door }) => {
        const { uri } = artifactOf(await write(door));
        expect(await resourceUris(door)).toContain(uri);
        expect(await readResource(door, uri)).toBeDefined();
      },
    ],
  );
  for (const [name, on] of [
    ['allow_raw_output', { allow_raw_output: true, overrides: { allow_raw_output: false } }],
    ['include_raw_output', { include_raw_output: true }],
    ['overrides.allow_raw_output', { overrides: { allow_raw_output: true } }],
  ] as const) {
    field(
      `${PRODUCER}.${name}`,
      [
        { entries: producer({ output_path_argument: 'output_path', ...on }) },
        async ({ door }) => {
          const message = await write(door);
          artifactOf(message);
          expect(hasBytes(message)).toBe(true);
        },
      ],
      [{ entries: injected }, async ({ door }) => expect(hasBytes(await write(door))).toBe(false)],
    );
  }
  field(`${PRODUCER}.overrides.tool_call_timeout_seconds`, [
    { entries: producer({ output_path_argument: 'output_path', overrides: { tool_call_timeout_seconds: 0.3 } }) },
    async ({ door, tools }) => {
      const hold = randomUUID();
      const message = await door.tool('write_file', { output_path: 'late.bin', hold });
      expect(isFailed(message)).toBe(true);
      await tools.open(hold);
    },
  ]);
}
