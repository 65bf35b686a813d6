import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { type RunningAdapter, startAdapter } from '../../support/adapter-process.ts';
import { imageAllocator } from '../../support/image-allocator.ts';
import { S3_START_MS, startProxy, startS3, whyNoS3Server } from '../../support/s3.ts';
import { secret } from '../../support/secrets/secret.ts';
import { asObject, type JsonObject } from '../../support/scripted-upstream/json-rpc.ts';
import { mounted } from '../kit/deployment.ts';
import { sharedFolder, type SharedFolder } from '../files/kit/folder.ts';
import { asking, type Asking } from './kit/asking.ts';
import { startToldServer, type ToldServer } from './kit/told-server.ts';

const MIB = 1 << 20;
const READER = 'up_read_artifact';
const LINE = `${'0123456789abcdef'.repeat(8)} é\\n`;
const LINES_IN_PIECE = 500;
const WARM_UP = 20;

/** A result with about so many bytes of text, of which nobody has all; a line in the middle is another one. */
function* large(bytes: number): Generator<string> {
  yield '{"content":[{"type":"text","text":"';
  const piece = LINE.repeat(LINES_IN_PIECE);
  const pieces = Math.ceil(bytes / Buffer.byteLength(piece));
  for (let i = 0; i < pieces; i++) yield i === pieces >> 1 ? `${piece}the needle\\n` : piece;
  yield '"}]}';
}

let upstream: ToldServer;
let folder: SharedFolder;
beforeAll(async () => {
  upstream = await startToldServer();
  folder = await sharedFolder();
});
afterAll(async () => {
  await upstream?.[Symbol.asyncDispose]();
  await folder?.[Symbol.asyncDispose]();
});

const start = (more: JsonObject = {}, env: NodeJS.ProcessEnv = {}): Promise<RunningAdapter> =>
  startAdapter({
    env: { ...imageAllocator(), ...env },
    config: {
      core: { max_start_wait_seconds: 0, upstream_ping: { enabled: false }, results: { spill_over_chars: 10_000 } },
      state_persistence: { type: 'memory' },
      storage: { root: folder.path },
      servers: [mounted('up', upstream.url)],
      ...more,
    },
  });

const tell = async (client: Asking, adapter: RunningAdapter, result: () => Iterable<string>, as: string) => {
  upstream.results.set('large', result);
  const message = await client.call(adapter, 'tools/call', { name: 'tell', arguments: { key: 'large', as } });
  return asObject(message.result);
};
const artifactOf = (result: JsonObject): JsonObject => asObject(asObject(result._meta).artifact);
const residentBytes = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;

describe('100 MB of text', () => {
  test.each(['json', 'sse'])('is in memory in small parts only, and is read in parts at once (%s)', async (as) => {
    await using adapter = await start();
    const client = await asking('with a session', adapter);
    // As much as the young generation of the heap takes under any load.
    for (let i = 0; i < WARM_UP; i++) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await tell(client, adapter, () => large(4 * MIB), as);
    }
    const before = residentBytes(adapter.pid);
    let most = before;
    const watch = setInterval(() => (most = Math.max(most, residentBytes(adapter.pid))), 20);
    const result = await tell(client, adapter, () => large(100 * MIB), as);
    clearInterval(watch);
    const { artifact_uri: uri, size_bytes: size } = artifactOf(result);
    expect(Number(size)).toBeGreaterThan(99 * MIB);
    process.stdout.write(
      `resident memory rose from ${(before / MIB).toFixed(1)} by ${((most - before) / MIB).toFixed(1)} MiB (${as})\n`,
    );
    expect(most - before).toBeLessThanOrEqual(32 * MIB);

    /** The first text, and when the first byte of the answer came. */
    const read = async (args: JsonObject): Promise<{ readonly text: string; readonly ms: number }> => {
      const started = performance.now();
      const params = { name: READER, arguments: { uri, ...args } };
      const response = await client.send(adapter, 'tools/call', params);
      const reader = response.body?.getReader();
      const first = await reader?.read();
      const ms = performance.now() - started;
      const chunks = [Buffer.from(first?.value ?? [])];
      for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) {
        chunks.push(Buffer.from(next.value));
      }
      const { result: part } = asObject(JSON.parse(Buffer.concat(chunks).toString()));
      const [one] = asObject(part).content as unknown[];
      return { text: String(asObject(one).text), ms };
    };
    await read({ limit: 10 });
    const end = await read({ offset: Number(size) - 20 });
    const found = await read({ grep: 'needle' });
    process.stdout.write(`offset ${end.ms.toFixed(1)} ms, grep ${found.ms.toFixed(1)} ms (${as})\n`);
    expect(end.text.endsWith('é\n')).toBe(true);
    expect(found.text).toMatch(/^\d+: the needle/);
    expect(end.ms).toBeLessThan(100);
    expect(found.ms).toBeLessThan(100);
    const all = await read({ grep: 'no such word' });
    expect(all.text).toContain('No line matches');
  });
});

describe('what cannot be kept passes as it was', () => {
  const small = `{"content":[{"type":"text","text":"${'s'.repeat(20_000)}"}]}`;
  test.each([
    ['small', () => [small]],
    ['large', () => large(3 * MIB)],
  ] as const)('quotas are full (%s)', async (_size, pieces) => {
    await using adapter = await start({ sessions: { max_total_session_size: 1000 } });
    const client = await asking('with a session', adapter);
    for (const as of ['json', 'sse']) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const result = await tell(client, adapter, pieces, as);
      expect(result.content).toEqual((JSON.parse([...pieces()].join('')) as JsonObject).content);
      expect(asObject(result._meta).artifact_error).toMatchObject({ code: 'session_quota' });
    }
  });

  test(
    'the bucket is away, and again once it is there',
    async ({ skip }) => {
      const why = await whyNoS3Server();
      if (why !== undefined) skip(why);
      await using s3 = await startS3(secret('key of S3'));
      let isAway = false;
      await using proxy = await startProxy(s3.endpoint, (_request, response) => {
        if (isAway) response.destroy();
        return isAway;
      });
      const bucket = { bucket: s3.bucket, endpoint: proxy.url };
      await using adapter = await start({ storage: { root: folder.path, s3: bucket } }, s3.env);
      const client = await asking('with a session', adapter);
      const uriOf = async (): Promise<unknown> =>
        artifactOf(await tell(client, adapter, () => [small], 'json')).artifact_uri;
      expect(await uriOf()).toMatch(/^artifact:/);
      isAway = true;
      const result = await tell(client, adapter, () => [small], 'json');
      expect(result.content).toEqual((JSON.parse(small) as JsonObject).content);
      expect(asObject(result._meta).artifact_error).toMatchObject({ code: expect.any(String) as string });
      isAway = false;
      expect(await uriOf()).toMatch(/^artifact:/);
    },
    S3_START_MS,
  );

  test('the disk is full', async () => {
    const disk = `${folder.path}/disk`;
    mkdirSync(disk);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', disk]);
    try {
      await using adapter = await start({ storage: { root: disk } });
      const client = await asking('without a session', adapter);
      for (const as of ['json', 'sse']) {
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        const result = await tell(client, adapter, () => large(20 * MIB), as);
        expect(result.content).toEqual((JSON.parse([...large(20 * MIB)].join('')) as JsonObject).content);
        expect(asObject(result._meta).artifact_error).toMatchObject({ code: expect.any(String) as string });
      }
      // Nothing of it stays behind.
      const files = await readdir(disk, { recursive: true, withFileTypes: true });
      expect(files.filter((entry) => entry.isFile())).toEqual([]);
      expect(adapter.stdout()).not.toContain('"level":50');
    } finally {
      execFileSync('umount', [disk]);
    }
  });
});
