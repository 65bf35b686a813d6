import { mkdtemp, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { runAdapter, startAdapter } from '../../support/adapter-process.ts';
import type { JsonObject } from '../../support/scripted-upstream/json-rpc.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'storage-root-'));
  await writeFile(join(folder, 'file'), '');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const producer = { type: 'artifact_producer', tools: ['t'], output_locator: { mode: 'embedded' } };

function config(root: string, changes: JsonObject = {}, adapters: readonly JsonObject[] = []): JsonObject {
  return {
    core: { max_start_wait_seconds: 0, upstream_ping: { enabled: false } },
    state_persistence: { type: 'memory' },
    storage: { root },
    servers: [{ id: 'up', mount_path: '/mcp/up', upstream: { url: 'http://127.0.0.1:9/mcp' }, adapters }],
    ...changes,
  };
}

describe('storage.root', () => {
  test('is made when it is missing', async () => {
    const root = join(folder, 'a/b');
    await using _adapter = await startAdapter({ config: config(root) });
    expect((await stat(root)).isDirectory()).toBe(true);
  });

  test.each([
    ['uploads are on', {}, []],
    ['a tool produces files', { uploads: { enabled: false } }, [producer]],
  ] as const)('must be a folder when %s', async (_when, changes, adapters) => {
    const root = join(folder, 'file/below');
    const ended = await runAdapter({ config: config(root, changes, adapters) });
    expect(ended.code).toBe(1);
    expect(ended.stderr).toMatch(/^mcp-adapter: cannot start: storage\.root .*file\/below cannot be used: /m);
    expect(ended.stderr).toContain('uploads.enabled');
  });

  test.each([
    [{ uploads: { enabled: false } }, []],
    [{ uploads: { enabled: false }, artifacts: { enabled: false } }, [producer]],
    [{ uploads: { enabled: false } }, [{ ...producer, persist: false }]],
  ] as const)('need not be there when nothing stores files: %j', async (changes, adapters) => {
    await using adapter = await startAdapter({ config: config(join(folder, 'file/below'), changes, adapters) });
    const answer = await fetch(`${adapter.url}/upload/up`, { method: 'POST', body: 'x' });
    expect([answer.status, await answer.json()]).toEqual([400, expect.objectContaining({ code: 'uploads_disabled' })]);
    expect((await fetch(`${adapter.url}/readyz`)).status).toBe(200);
  });

  test('may be a link', async () => {
    await symlink(folder, join(folder, 'link'));
    await using _adapter = await startAdapter({ config: config(join(folder, 'link')) });
  });
});
