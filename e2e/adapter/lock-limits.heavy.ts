import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { expect, test } from 'vitest';

import { startProcess } from '../support/processes.ts';
import { startRawUpstream } from '../support/raw-upstream.ts';
import { asObject } from '../support/scripted-upstream/json-rpc.ts';

const MAIN = fileURLToPath(new URL('../../adapter/main.ts', import.meta.url));
const LIMIT_MS = 10_000;

test('lock waits ten seconds for all that a server says, and says which one kept it waiting', async () => {
  // All is well until its prompts are asked for.
  await using silent = await startRawUpstream(({ json }, res) => {
    const { id, method } = asObject(json);
    const capabilities = { tools: {}, prompts: {} };
    const result =
      method === 'server/discover'
        ? { supportedVersions: ['2026-07-28'], capabilities }
        : method === 'tools/list'
          ? { tools: [{ name: 'one', inputSchema: { type: 'object' } }] }
          : undefined;
    if (result === undefined) return;
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  });
  const folder = await mkdtemp(join(tmpdir(), 'lock-'));
  try {
    const config = join(folder, 'config.yaml');
    const servers = ['a', 'b'].map((id) => ({
      id,
      mount_path: `/${id}`,
      upstream: { url: `${silent.url}/mcp` },
    }));
    await writeFile(config, JSON.stringify({ servers }));
    const started = performance.now();
    const running = startProcess(process.execPath, [MAIN, 'lock', 'create', '--config', config]);
    const exit = await running.exitsWithin(4 * LIMIT_MS);
    const ms = performance.now() - started;
    expect(exit?.code).toBe(3);
    expect(running.stderr().split('\n')).toEqual([
      'a did not say what it has: not reached: it did not list all of it within 10 s',
      'b did not say what it has: not reached: it did not list all of it within 10 s',
      '',
    ]);
    expect(ms).toBeGreaterThan(LIMIT_MS - 1);
    // Side by side, or it would be twice as long.
    expect(ms).toBeLessThan(2 * LIMIT_MS);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}, 60_000);
