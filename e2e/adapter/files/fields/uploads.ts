import { expect } from 'vitest';
import { formFile, upload, uploadedOne } from '../kit/uploads.ts';
import type { Scene } from '../kit/with-adapter.ts';
import { CONSUMER, consumer, type FieldTest, isFailed, later } from './field-test.ts';

/** Section 2.6 of the specification. */
export function uploadsFields(field: FieldTest): void {
  const status = async ({ adapter, session }: Scene, size = 1_000): Promise<number> =>
    (await upload(adapter, session.sessionId, [formFile('a', size)])).status;

  field(
    'uploads.enabled',
    [{ config: { uploads: { enabled: false } } }, async (scene) => expect(await status(scene)).toBe(400)],
    [{}, async (scene) => expect(await status(scene)).toBe(200)],
  );
  field('uploads.max_file_bytes', [
    { config: { uploads: { max_file_bytes: '1Ki' } } },
    async (scene) => expect([await status(scene, 1_024), await status(scene, 1_025)]).toEqual([200, 413]),
  ]);

  const readAfter = async ({ adapter, session, door }: Scene, seconds: readonly number[]): Promise<boolean[]> => {
    const { handle } = await uploadedOne(adapter, session.sessionId, 'a');
    const read: boolean[] = [];
    for (const wait of seconds) {
      later(wait);
      read.push(!isFailed(await door.tool('read_file', { path: handle })));
      // The end of a use is written behind the answer; once this is, that is too.
      await uploadedOne(adapter, session.sessionId, 'b');
    }
    return read;
  };
  field(
    'uploads.ttl_seconds',
    // Each use begins it anew.
    [{}, async (scene) => expect(await readAfter(scene, [100, 100, 130])).toEqual([true, true, false])],
    [
      { config: { uploads: { ttl_seconds: 1_000 } } },
      async (scene) => expect(await readAfter(scene, [990, 1_010])).toEqual([true, false]),
    ],
    [
      { config: { uploads: { ttl_seconds: null } } },
      async (scene) => expect(await readAfter(scene, [1_000_000])).toEqual([true]),
    ],
  );
  field(
    'uploads.require_sha256',
    [{ config: { uploads: { require_sha256: true } } }, async (scene) => expect(await status(scene)).toBe(400)],
    [{}, async (scene) => expect(await status(scene)).toBe(200)],
  );
  const scheme = { config: { uploads: { uri_scheme: 'files://' } }, entries: consumer({ uri_scheme: 'files://' }) };
  const schemed = async ({ adapter, session, door }: Scene): Promise<void> => {
    const { handle, id } = await uploadedOne(adapter, session.sessionId, 'a');
    expect(handle).toBe(`files://sessions/${session.sessionId}/${id}`);
    expect(isFailed(await door.tool('read_file', { path: handle }))).toBe(false);
    expect(isFailed(await door.tool('read_file', { path: handle.replace('files', 'upload') }))).toBe(true);
  };
  field('uploads.uri_scheme', [scheme, schemed]);
  field(`${CONSUMER}.uri_scheme`, [scheme, schemed]);
}
