import { execFileSync } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningAdapter, startAdapter } from '../../support/adapter-process.ts';
import { type FileTools, startFileTools } from '../../support/file-tools.ts';
import { readResource } from '../files/kit/artifacts.ts';
import { lying, sharedFolder } from '../files/kit/folder.ts';
import { fileConfig, withEntries } from '../files/kit/settings.ts';
import { uploaded } from '../files/kit/uploads.ts';
import { type Deployment, mounted, startDeployment } from '../kit/deployment.ts';
import { openSession } from '../kit/session.ts';
import { downloaded, oneOf, problemsOf, ROLES, saidBy, textFile } from './kit/roles.ts';

const BACK_MS = 30_000;

describe('Redis is away in the middle of a change', () => {
  let tools: FileTools;
  let deployment: Deployment;

  beforeAll(async () => {
    tools = await startFileTools();
    const config = {
      core: { allow_artifacts_download: true },
      state_persistence: { redis: { ping_seconds: 0.5, wait_seconds: 0.2 } },
      servers: [mounted('up', tools.url, { adapters: ROLES })],
    };
    deployment = await startDeployment({ config, redis: { appendonly: true } });
  });
  afterAll(async () => {
    await deployment?.close();
    await tools?.stop();
  });

  const outages = [
    ['is stopped', () => deployment.redis.stop(), () => deployment.redis.start()],
    ['hangs', () => deployment.redis.pause(), () => deployment.redis.resume()],
  ] as const;
  const kinds = ['artifact', 'upload'] as const;

  test.for(outages.flatMap(([how, begin, end]) => kinds.map((kind) => ({ how, begin, end, kind }))))(
    'it $how, and the $kind is the version before or after',
    { timeout: 120_000 },
    async ({ how, begin, end, kind }) => {
      const { a, b, folder } = deployment;
      const session = await openSession(a);
      const [taken] =
        kind === 'upload' ? await uploaded(a, session.sessionId, [{ name: 'x.txt', bytes: Buffer.from('one\n') }]) : [];
      const path = taken?.handle ?? (await textFile(session.at(a), 'one\n'));
      const gate = `${kind}-${how.replaceAll(' ', '-')}`;
      const call = session.at(a).tool('append_line', { path, line: 'two', hold: gate });
      await tools.arrived(gate);
      await begin();
      await tools.open(gate);
      const message = await call;
      await end();

      // Whoever has not heard of it yet that the store is back refuses.
      const said = async (line: string): Promise<string> =>
        saidBy(await session.at(b).tool('append_line', { path, line }));
      const read = async (): Promise<string> => saidBy(await session.at(b).tool('read_lines', { path }));
      await expect.poll(read, { timeout: BACK_MS, interval: 200 }).toMatch(/^one\n/);
      const text = (await read()).split('\nDownload')[0] ?? '';
      expect(['one', 'one\ntwo']).toContain(text.trim());
      const isKept = saidBy(message).startsWith('Appended') && problemsOf(message) === undefined;
      if (isKept) expect(text.trim()).toBe('one\ntwo');
      else expect(JSON.stringify(message)).toMatch(/"(?:storage_busy|state_unavailable|storage_unavailable)"/);
      expect(JSON.stringify(message)).not.toContain(folder);

      await expect.poll(() => said('three'), { timeout: BACK_MS, interval: 200 }).toContain('Appended');
      const after = oneOf(await session.at(a).tool('append_line', { path, line: 'four' }));
      expect(await downloaded(b, after.url)).toBe(`${text.trim()}\nthree\nfour\n`);
      expect((await session.at(b).end()).status).toBe(200);
      const ours = async () => (await lying(folder)).filter((file) => file.path.includes(session.sessionId));
      await expect.poll(ours, { timeout: BACK_MS }).toEqual([]);
    },
  );
});

describe('the disk is full', () => {
  const started = new AsyncDisposableStack();
  let root: string;
  let adapter: RunningAdapter;
  let unavailable: string | undefined;

  beforeAll(async () => {
    const folder = started.use(await sharedFolder());
    root = join(folder.path, 'disk');
    await mkdir(root);
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=3m', 'tmpfs', root], { stdio: 'pipe' });
    } catch (error) {
      unavailable = `mounting a small disk needs more rights: ${String(error)}`;
      return;
    }
    started.defer(() => void execFileSync('umount', [root]));
    const tools = started.use(await startFileTools());
    // The state lies elsewhere: a database on the same disk refuses everything once that is full.
    const state = { state_persistence: { type: 'memory' } };
    const config = fileConfig(root, tools.url, { ...withEntries(tools.url, ...ROLES), ...state });
    adapter = started.use(await startAdapter({ config }));
  });
  afterAll(() => started.disposeAsync());

  test('while a copy is made, while the tool writes, and while an output is kept', async ({ skip }) => {
    if (unavailable !== undefined) skip(unavailable);
    const session = await openSession(adapter);
    const door = session.at(adapter);
    const small = await textFile(door, 'small\n');
    const { uri } = oneOf(await door.tool('write_file', { output_path: 'big.bin', size: 1_400_000 }));
    const other = oneOf(await door.tool('write_file', { output_path: 'more.bin', size: 1_000_000 }));
    const before = await lying(root);

    const copied = await door.tool('append_line', { path: uri, line: 'never' });
    expect(copied).toMatchObject({ result: { isError: true } });
    expect(saidBy(copied)).toContain('no space left');
    const written = await door.tool('write_text', { output_path: 'third.txt', text: 'x'.repeat(900_000) });
    expect(written).toMatchObject({ result: { isError: true } });
    const changed = await door.tool('append_line', { path: small, line: 'x'.repeat(900_000) });
    expect(changed).toMatchObject({ result: { isError: true } });
    for (const message of [copied, written, changed]) expect(JSON.stringify(message)).not.toContain(root);

    expect(String(await readResource(door, small))).toBe('small\n');
    expect((await readResource(door, uri))?.length).toBe(1_400_000);
    await expect.poll(() => lying(root)).toEqual(before);
    expect(oneOf(await door.tool('append_line', { path: small, line: 'on' })).version).toBe(2);
    expect((await readResource(door, other.uri))?.length).toBe(1_000_000);
    expect((await door.end()).status).toBe(200);
    await expect.poll(() => lying(root)).toEqual([]);
  });
});
