import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { storedFiles, type StoredFiles } from '../files/testing/stored-files.ts';
import { SessionFiles } from './session-files.ts';

describe('the files of a session', () => {
  let files: StoredFiles;
  let errors: unknown[];

  beforeEach(async () => {
    files = await storedFiles();
    errors = [];
  });
  afterEach(() => files[Symbol.asyncDispose]());

  const create = (): SessionFiles => new SessionFiles(files.store, files.bytes, (error) => errors.push(error));
  const folders = (sessionId: string): boolean[] =>
    ['uploads', 'artifacts'].map((kind) => existsSync(join(files.root, kind, 'sessions', sessionId)));

  test('go with it, and only they', async () => {
    const [ended, other] = [await files.session(), await files.session()];
    await files.file(ended, 'upload');
    await files.file(ended, 'artifact');
    await files.file(other, 'upload');
    await files.store.remove(ended);
    expect(await create().purge(ended)).toHaveLength(2);
    expect([folders(ended.sessionId), folders(other.sessionId)]).toEqual([
      [false, false],
      [true, false],
    ]);
    expect(await files.store.files.totals()).toMatchObject({ uploads: { count: 1 }, artifacts: { count: 0 } });
    expect(await create().purge(ended)).toEqual([]);
    expect(errors).toEqual([]);
  });

  test('go at once when it is invalidated', async () => {
    const session = await files.session();
    await files.file(session, 'artifact');
    expect(await create().invalidate(session, 'drift', Date.now() + 60_000)).toBe(true);
    expect(folders(session.sessionId)).toEqual([false, false]);
    const found = await files.store.find(session, { principal: '', now: Date.now() });
    expect(found).toMatchObject({ state: 'invalidated', reason: 'drift' });
    expect(await create().invalidate({ serverId: 's1', sessionId: 'x' }, 'drift', 0)).toBe(false);
  });

  test('are left to the cleanup when the store fails, and nobody else is troubled by it', async () => {
    const session = await files.session();
    vi.spyOn(files.store.files, 'purge').mockRejectedValue(new Error('down'));
    expect(await create().purge(session)).toEqual([]);
    expect(errors).toEqual([new Error('down')]);
  });
});
