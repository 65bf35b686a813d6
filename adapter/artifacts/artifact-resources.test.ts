import { rm, writeFile } from 'node:fs/promises';

import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { Artifacts } from '../../crds/config/adapter-file/artifacts.ts';
import type { Answer } from '../exchange/answers/answer.ts';
import { wholeAnswer } from '../exchange/testing/whole-answer.ts';
import { newId, type StoredFiles, storedFiles } from '../files/testing/stored-files.ts';
import type { FileRecord } from '../state/file-records.ts';
import type { SessionRecord } from '../state/state-store.ts';
import { artifactResources } from './artifact-resources.ts';
import { artifactUri } from './artifact-uri.ts';
import type { OwnResources } from '../lists/own-resources.ts';

const TTL_MS = 600_000;

let files: StoredFiles;
let session: SessionRecord;

beforeEach(async () => {
  files = await storedFiles();
  session = await files.session();
});
afterEach(async () => files[Symbol.asyncDispose]());

function resources(artifacts: object = {}): OwnResources | undefined {
  return artifactResources({
    serverId: 's1',
    artifacts: Artifacts.parse(artifacts),
    exposes: true,
    records: files.store.files,
    files: files.bytes,
  });
}

const uriOf = (file: FileRecord): string => artifactUri('artifact://', file);

async function contentOf(answer: Answer | undefined): Promise<Record<string, unknown> | undefined> {
  if (answer === undefined) return undefined;
  if (typeof answer === 'string') throw new Error('not streamed');
  const { contents } = JSON.parse(await wholeAnswer(answer)) as { contents: Record<string, unknown>[] };
  expect(contents).toHaveLength(1);
  return contents[0];
}

describe('artifacts as resources', () => {
  test('are listed for their session, oldest first, without those that are not offered', async () => {
    const now = Date.now();
    const old = await files.file(session, 'artifact', { filename: 'a.txt', toolName: 'shoot', createdAt: now - 5 });
    const young = await files.file(session, 'artifact', { filename: 'b.png', mimeType: 'image/png', createdAt: now });
    await files.file(session, 'artifact', { exposed: false });
    await files.file(session, 'artifact', { lastUsedAt: now - TTL_MS - 1 });
    await files.file(session, 'upload');
    await files.file(await files.session(), 'artifact');
    const listed = (await resources()?.list(session)) ?? [];
    expect(listed.map((text): unknown => JSON.parse(text))).toEqual([
      {
        uri: uriOf(old),
        name: 'a.txt',
        description: 'File that the tool shoot produced',
        mimeType: 'text/plain',
        size: 5,
        _meta: { size_bytes: 5 },
      },
      expect.objectContaining({ uri: uriOf(young), name: 'b.png', mimeType: 'image/png' }),
    ]);
  });

  test('are read as text when they are text', async () => {
    const file = await files.file(session, 'artifact', { filename: 'a.txt', mimeType: 'text/x-log' });
    await writeFile(files.pathOf(file), '"é"\n');
    const content = await contentOf(await resources()?.read(session, uriOf(file)));
    expect(content).toEqual({ uri: uriOf(file), mimeType: 'text/x-log', text: '"é"\n' });
  });

  test.each<[string, Buffer]>([
    ['Latin-1', Buffer.from('Stra\u00DFe;M\u00FCnchen\n', 'latin1')],
    ['UTF-16', Buffer.from('\uFEFFa;b\n', 'utf16le')],
    ['cut UTF-8', Buffer.from(`${'a'.repeat(1_000_000)}é`).subarray(0, -1)],
  ])('are read as base64 when they are text that is no UTF-8: %s', async (_encoding, bytes) => {
    const file = await files.file(session, 'artifact', { filename: 'a.csv', mimeType: 'text/csv' });
    await writeFile(files.pathOf(file), bytes);
    const content = await contentOf(await resources()?.read(session, uriOf(file)));
    expect(content).toEqual({ uri: uriOf(file), mimeType: 'text/csv', blob: bytes.toString('base64') });
  });

  test.each([0, 1, 2, 3, 65_535, 65_536, 65_537, 1_000_000])('are read as base64 otherwise: %i bytes', async (size) => {
    const file = await files.file(session, 'artifact', { filename: 'a.json', mimeType: 'application/json' });
    const bytes = Buffer.alloc(size, 'abcde');
    await writeFile(files.pathOf(file), bytes);
    const content = await contentOf(await resources()?.read(session, uriOf(file)));
    expect(content).toMatchObject({ mimeType: 'application/json' });
    expect(Buffer.from(content?.['blob'] as string, 'base64').equals(bytes)).toBe(true);
  });

  test('with characters in all places are read as text whole', async () => {
    const file = await files.file(session, 'artifact', { filename: 'a.txt' });
    const text = 'aé😀'.repeat(100_000);
    await writeFile(files.pathOf(file), text);
    expect((await contentOf(await resources()?.read(session, uriOf(file))))?.['text']).toBe(text);
  });

  test('live on when they are read', async () => {
    const file = await files.file(session, 'artifact', { lastUsedAt: Date.now() - TTL_MS + 5_000 });
    await contentOf(await resources()?.read(session, uriOf(file)));
    const expired = { now: Date.now() + 60_000, uploadTtlMs: null, artifactTtlMs: TTL_MS, limit: 10 };
    expect(await files.store.files.expire(expired)).toEqual([]);
  });

  test('are not there for anybody else, when they are gone, or by another name', async () => {
    const own = await files.file(session, 'artifact');
    const other = await files.file(await files.session(), 'artifact');
    const hidden = await files.file(session, 'artifact', { exposed: false });
    const expired = await files.file(session, 'artifact', { lastUsedAt: Date.now() - TTL_MS - 1 });
    const lost = await files.file(session, 'artifact');
    await rm(files.pathOf(lost));
    const upload = await files.file(session, 'upload');
    const start = `artifact://sessions/${session.sessionId}`;
    const uris = [
      uriOf(other),
      uriOf({ ...other, sessionId: session.sessionId }),
      uriOf({ ...own, sessionId: other.sessionId }),
      uriOf(hidden),
      uriOf(expired),
      uriOf(lost),
      uriOf(upload),
      uriOf({ ...own, filename: 'other.txt' }),
      `${uriOf(own)}/more`,
      `${start}/${own.fileId}`,
      `${start}/${own.fileId}/`,
      `${start}/${newId()}/file.txt`,
      `${start}/../${own.fileId}/file.txt`,
      `${start}/${own.fileId}/%ff`,
      'artifact://sessions/',
      `artifact://sessions/../../x/${own.fileId}/file.txt`,
    ];
    for (const uri of uris) {
      expect([uri, resources()?.owns(uri), await resources()?.read(session, uri)]).toEqual([uri, true, undefined]);
    }
    expect(resources()?.owns('file:///artifact://sessions/')).toBe(false);
  });

  test('are not offered while artifacts are off', () => {
    expect(resources({ enabled: false })).toBeUndefined();
  });

  test('are kept in mind by the scheme and the time of the configuration', async () => {
    const file = await files.file(session, 'artifact', { lastUsedAt: Date.now() - 2_000 });
    const uri = artifactUri('kept://', file);
    expect(resources({ uri_scheme: 'kept://' })?.owns(uri)).toBe(true);
    expect(await resources({ uri_scheme: 'kept://', ttl_seconds: 1 })?.read(session, uri)).toBeUndefined();
    expect(await resources({ uri_scheme: 'kept://', ttl_seconds: null })?.read(session, uri)).toBeDefined();
  });
});
