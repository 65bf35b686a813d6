import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { contentOf } from '../../support/file-tools.ts';
import { asObject, type JsonObject } from '../../support/scripted-upstream/json-rpc.ts';
import { eventually } from '../kit/eventually.ts';
import type { InProcessAdapter } from '../kit/in-process.ts';
import { type Session, textOf } from '../kit/session.ts';
import { artifactError, artifactOf, readResource } from './kit/artifacts.ts';
import { lying } from './kit/folder.ts';
import { formFile, upload, uploadedOne } from './kit/uploads.ts';
import { SECRET, STATE, startVictim, type Victim } from './kit/victim.ts';

describe('T6: a server that wants files which are not its own', () => {
  let victim: Victim;
  let adapter: InProcessAdapter;
  let root: string;
  let outside: string;

  beforeAll(async () => {
    victim = await startVictim();
    ({ adapter, root, outside } = victim);
  });
  afterAll(() => victim?.[Symbol.asyncDispose]());
  afterEach(() => victim.isWell());

  describe('by what a tool leaves where its file should be', () => {
    test.for(['symlink', 'hardlink', 'fifo', 'device', 'folder'] as const)('a %s', async (what, context) => {
      const session = await victim.open();
      const target = join(outside, 'out.bin');
      const message = await session.at(adapter).tool('leave', { output_path: 'out.bin', what, target });
      if (textOf(message).includes('mknod')) context.skip('making a device needs more rights');
      expect(textOf(message)).toBe(`left a ${what}`);
      expectRefused(message);
      // What was not kept goes once the exchange is over, which the client may see before.
      await eventually(() => victim.lyingOf(session)).toEqual([]);
      expect(await readFile(target, 'utf8')).toBe(SECRET);
    });
  });

  describe('by what a tool says that it wrote', () => {
    const paths = {
      'a file of another session': (file: string) => file,
      'an upload of another session, by way of its own': (file: string, own: string) =>
        join(own, '..', '..', '..', file.slice(file.indexOf('sessions/') + 9)),
      'the state database': () => join(root, STATE),
      'the state database, from its own folder': (_: string, own: string) => `${own}/../../../../../${STATE}`,
      'a file of the machine': () => '/etc/passwd',
      'the environment of the adapter': () => '/proc/self/environ',
      'a file outside': () => join(outside, 'out.bin'),
      'a folder': () => root,
      'a device': () => '/dev/zero',
    };

    test.for(Object.entries(paths))('%s', async ([, pathOf]) => {
      const stranger = await victim.open();
      const other = await uploadedOne(adapter, stranger.sessionId, 'other');
      for (const server of ['up', 'rx']) {
        const session = await victim.open(`/mcp/${server}`);
        const own = await ownFolder(session, server);
        const path = pathOf(join(root, 'uploads/sessions', stranger.sessionId, other.id, 'other'), own);
        const before = await victim.lyingOf(session);
        const says = server === 'up' ? 'structured' : 'text';
        const message = await session.at(adapter).tool('name_path', { path, says });
        expect(textOf(message)).toBe(server === 'up' ? 'done' : `Saved the file to "${path}".`);
        expectRefused(message);
        await eventually(() => victim.lyingOf(session)).toEqual(before);
      }
    });

    /** A folder of this session that exists. */
    async function ownFolder(session: Session, server: string): Promise<string> {
      const response = await upload(adapter, session.sessionId, [formFile('mine', 10)], { server });
      const { upload_id: id } = asObject(asObject(await response.json()).upload);
      return join(root, 'uploads/sessions', session.sessionId, String(id));
    }
  });

  test('by a folder that is changed for a link while it is looked at', async () => {
    const session = await victim.open();
    const stop = randomUUID();
    let kept = 0;
    for (let attempt = 0; attempt < 12; attempt += 1) {
      const args = { output_path: 'out.bin', target: outside, until: stop };
      const message = await session.at(adapter).tool('swap', args);
      if (artifactError(message) !== undefined) continue;
      const { uri } = artifactOf(message);
      for (let read = 0; read < 5; read += 1) {
        const bytes = await readResource(session.at(adapter), uri);
        // Nothing, or what the tool has written; never what the link leads to.
        if (bytes === undefined) continue;
        kept += 1;
        expect(bytes.equals(contentOf('seed', 1_000))).toBe(true);
      }
    }
    await victim.tools.open(stop);
    expect(kept).toBeGreaterThanOrEqual(0);
    const copies = await Promise.all(
      (await lying(root)).map(({ path }) => readFile(join(root, path), 'latin1').catch(() => '')),
    );
    expect(copies.filter((text) => text.includes(SECRET))).toEqual([]);
    expect(await readFile(join(outside, 'out.bin'), 'utf8')).toBe(SECRET);
  });

  test('by a text that a pattern would look through for ever', { timeout: 20_000 }, async () => {
    const session = await victim.open('/mcp/endless');
    const text = `${'a'.repeat(50_000)}!`;
    const message = await session.at(adapter).tool('name_path', { text });
    expect(textOf(message)).toBe(text);
    expectRefused(message);
  });
});

/** The tool's result goes on to the client with a warning, and nothing was kept. */
function expectRefused(message: JsonObject): void {
  const { isError, _meta } = asObject(message.result);
  expect(isError, JSON.stringify(message).slice(0, 1_000)).not.toBe(true);
  expect(asObject(_meta).artifact).toBeUndefined();
  expect(artifactError(message)).toEqual({ code: expect.any(String) as string, detail: expect.any(String) as string });
}
