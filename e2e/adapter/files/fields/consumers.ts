import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { asObject, type JsonObject } from '../../../support/scripted-upstream/json-rpc.ts';
import { textOf } from '../../kit/session.ts';
import { uploadedOne } from '../kit/uploads.ts';
import type { Scene } from '../kit/with-adapter.ts';
import { CONSUMER, consumer, type FieldTest, isFailed } from './field-test.ts';

const pathsSeen = (message: JsonObject): unknown[] =>
  (asObject(asObject(message.result).structuredContent).files as JsonObject[]).map(({ path }) => path);

/** Section 2.8, entries of type upload_consumer of the specification. */
export function consumersFields(field: FieldTest): void {
  const give = async ({ adapter, session, door }: Scene, tool: string, args: (handle: string) => JsonObject) =>
    await door.tool(tool, args((await uploadedOne(adapter, session.sessionId, 'a.bin')).handle));
  const place = (scene: Scene): string => join(scene.root, 'uploads/sessions', scene.session.sessionId);

  for (const name of ['type', 'tools']) {
    field(`${CONSUMER}.${name}`, [
      { entries: consumer({}) },
      async (scene) => {
        const taken = await give(scene, 'read_file', (path) => ({ path }));
        expect(pathsSeen(taken)).toEqual([expect.stringMatching(new RegExp(`^${place(scene)}/[0-9a-f]{32}/a.bin$`))]);
        // A tool that no entry names gets what the client has written.
        expect(textOf(await give(scene, 'read_maybe', (path) => ({ path })))).toContain("open 'upload://");
      },
    ]);
  }
  field(`${CONSUMER}.file_path_argument`, [
    {
      entries: [
        { type: 'upload_consumer', tools: ['read_nested'], file_path_argument: 'a.files.path' },
        { type: 'upload_consumer', tools: ['read_many'], file_path_argument: 'paths' },
      ],
    },
    async (scene) => {
      const path = expect.stringMatching(new RegExp(`^${place(scene)}/[0-9a-f]{32}/a.bin$`)) as string;
      const nested = (handle: string) => ({ a: { files: [{ path: handle }, { path: handle }] } });
      expect(pathsSeen(await give(scene, 'read_nested', nested))).toEqual([path, path]);
      expect(pathsSeen(await give(scene, 'read_many', (handle) => ({ paths: handle })))).toEqual([path]);
      expect(pathsSeen(await give(scene, 'read_many', (handle) => ({ paths: [handle, handle] })))).toEqual([
        path,
        path,
      ]);
    },
  ]);
  for (const [name, uri, none] of [
    ['uri_prefix', { uri_prefix: true }, { uri_prefix: false }],
    ['pass_as', { pass_as: 'file_uri' }, { pass_as: 'path' }],
  ] as const) {
    const entry = (more: JsonObject) => [
      { type: 'upload_consumer', tools: ['read_uri'], file_path_argument: 'uri', ...more },
    ];
    field(
      `${CONSUMER}.${name}`,
      [
        { entries: entry(uri) },
        async (scene) => {
          const message = await give(scene, 'read_uri', (handle) => ({ uri: handle }));
          expect(pathsSeen(message)).toEqual([expect.stringContaining(pathToFileURL(place(scene)).href) as string]);
        },
      ],
      [
        { entries: entry(none) },
        async (scene) => {
          const message = await give(scene, 'read_uri', (handle) => ({ uri: handle }));
          expect(isFailed(message)).toBe(true);
        },
      ],
    );
  }

  const held = async ({ adapter, session, door, tools }: Scene): Promise<void> => {
    const { handle } = await uploadedOne(adapter, session.sessionId, 'a');
    const hold = randomUUID();
    const message = await door.tool('read_file', { path: handle, hold });
    expect(isFailed(message)).toBe(true);
    expect(textOf(message)).toMatch(/time|0\.3/);
    await tools.open(hold);
  };
  field(`${CONSUMER}.overrides.tool_call_timeout_seconds`, [
    { entries: consumer({ overrides: { tool_call_timeout_seconds: 0.3 } }) },
    held,
  ]);
  field(`${CONSUMER}.overrides.allow_raw_output`, [
    // The schema takes it for every entry; only tools that make files have something to give out.
    { entries: consumer({ overrides: { allow_raw_output: true } }) },
    async (scene) => {
      const message = await give(scene, 'read_file', (path) => ({ path }));
      expect(asObject(message.result).content).toHaveLength(1);
    },
  ]);
}
