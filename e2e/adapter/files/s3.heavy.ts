import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ListMultipartUploadsCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { runAdapter, type RunningAdapter, startAdapter } from '../../support/adapter-process.ts';
import { type FileTools, startFileTools } from '../../support/file-tools.ts';
import { S3_START_MS, startProxy, startS3, type TestS3, whyNoS3Server } from '../../support/s3.ts';
import { asObject, type JsonObject } from '../../support/scripted-upstream/json-rpc.ts';
import { secret } from '../../support/secrets/secret.ts';
import { eventually } from '../kit/eventually.ts';
import { openSession, type Session } from '../kit/session.ts';
import { within } from '../kit/within.ts';
import { artifactOf, at, bytesOf, readResource } from './kit/artifacts.ts';
import { type BucketPair, startBucketPair } from './kit/bucket-pair.ts';
import { lying, sharedFolder } from './kit/folder.ts';
import { ENTRIES, fileConfig, withEntries } from './kit/settings.ts';
import { contentSeen, formFile, statusAndBody, upload, uploadedOne } from './kit/uploads.ts';

const PREFIX = 'team/';
/** More than is sent with one request. */
const LARGE = 65 * 1024 * 1024;
const CLOCK = new URL('kit/clock.ts', import.meta.url).href;
const unavailable = await whyNoS3Server();

/** What a reading tool says of the only file that it was given. */
const seenBy = (message: JsonObject): JsonObject => {
  const { structuredContent } = asObject(message.result);
  const { files } = asObject(structuredContent);
  if (!Array.isArray(files) || files.length !== 1) throw new Error(JSON.stringify(message));
  return asObject(files[0]);
};

describe('two replicas that share a bucket and no folder', () => {
  const started = new AsyncDisposableStack();
  let s3: TestS3;
  let tools: FileTools;
  let pair: BucketPair;
  let a: RunningAdapter;
  let b: RunningAdapter;

  beforeEach(({ skip }) => {
    if (unavailable !== undefined) skip(unavailable);
  });
  beforeAll(async () => {
    if (unavailable !== undefined) return;
    s3 = started.use(await startS3(secret('key of S3')));
    tools = started.use(await startFileTools());
    const byUrl = { type: 'upload_consumer', tools: ['read_url'], file_path_argument: 'url', pass_as: 'url' };
    pair = await startBucketPair(started, s3, tools.url, withEntries(tools.url, byUrl, ...ENTRIES), PREFIX);
    ({ a, b } = pair);
  }, S3_START_MS);
  afterAll(() => started.disposeAsync());

  /** One that cleans up all the time. */
  const startSweeper = async (env: NodeJS.ProcessEnv = {}): Promise<RunningAdapter> => {
    const config = fileConfig(pair.roots[0], tools.url, {
      core: { cleanup_interval_seconds: 0.2 },
      ...pair.shared,
      storage: { orphan_sweeper_grace_seconds: 0.5, ...pair.shared.storage },
    });
    return await startAdapter({ config, env: { ...s3.env, ...env } });
  };
  /** Keys of what the bucket holds of a session, without what they all start with. */
  const held = async ({ sessionId }: Session): Promise<string[]> => {
    const all = await Promise.all(
      ['uploads', 'artifacts'].map(async (kind) => {
        const folder = join(s3.objects, PREFIX, kind, 'sessions', sessionId);
        const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
        return entries.filter((entry) => entry.isFile()).map(({ name }) => `${kind}/${name}`);
      }),
    );
    return all.flat().sort();
  };
  const lyingAt = async (root: string, { sessionId }: Session): Promise<string[]> =>
    (await lying(root)).map(({ path }) => path).filter((path) => path.includes(sessionId));

  test('a tool of any replica gets an upload as a URL that it can read', async () => {
    const session = await openSession(a);
    const { handle, id } = await uploadedOne(a, session.sessionId, 'notes-1.txt', 5_000);
    expect(await held(session)).toEqual(['uploads/notes-1.txt']);
    for (const replica of [a, b]) {
      const seen = seenBy(await session.at(replica).tool('read_url', { url: handle }));
      expect(seen).toMatchObject(contentSeen('notes-1.txt', 5_000));
      const url = new URL(String(seen.path));
      expect(url.origin).toBe(s3.endpoint);
      expect(decodeURIComponent(url.pathname)).toContain(`/${PREFIX}uploads/sessions/${session.sessionId}/${id}/`);
      expect(url.searchParams.get('X-Amz-Expires')).toBe('900');
    }
    // Nobody had to fetch it for that.
    expect(await lyingAt(pair.roots[1], session)).toEqual([]);
  });

  test('a tool that wants a path gets one where its replica has its files', async () => {
    const session = await openSession(a);
    const { handle } = await uploadedOne(a, session.sessionId, 'path.bin', 300_000);
    const seen = seenBy(await session.at(b).tool('read_file', { path: handle }));
    expect(seen).toMatchObject(contentSeen('path.bin', 300_000));
    expect(String(seen.path).startsWith(`${pair.roots[1]}/`)).toBe(true);
  });

  test('a file that somebody has deleted by hand is fetched back', async () => {
    const session = await openSession(a);
    const { handle } = await uploadedOne(a, session.sessionId, 'gone.bin', 100_000);
    const door = session.at(a);
    const { path } = seenBy(await door.tool('read_file', { path: handle }));
    await rm(dirname(String(path)), { recursive: true });
    const seen = seenBy(await door.tool('read_file', { path: handle }));
    expect(seen).toEqual({ path, ...contentSeen('gone.bin', 100_000) });
    expect((await readFile(String(path))).length).toBe(100_000);
  });

  test('an artifact of one replica is read and downloaded through the other', async () => {
    const session = await openSession(a);
    const args = { output_path: 'result.bin', seed: 'result.bin', size: 70_000 };
    const artifact = artifactOf(await session.at(a).tool('write_file', args));
    const { bytes } = formFile('result.bin', 70_000);
    const direct = await fetch(artifact.downloadUrl ?? '');
    expect(new URL(artifact.downloadUrl ?? '').origin).toBe(s3.endpoint);
    expect(direct.headers.get('content-disposition')).toBe('attachment; filename="result.bin"');
    expect((await bytesOf(direct)).equals(bytes)).toBe(true);

    const own = `${b.url}/artifacts/up/${session.sessionId}/${artifact.id}/result.bin`;
    const headers = { 'mcp-session-id': session.sessionId };
    const sent = await fetch(own, { headers, redirect: 'manual' });
    expect([sent.status, sent.headers.get('cache-control')]).toEqual([307, 'private, no-store']);
    expect(new URL(sent.headers.get('location') ?? '').origin).toBe(s3.endpoint);
    const part = await fetch(own, { headers: { ...headers, range: 'bytes=100-299' } });
    expect([part.status, part.headers.get('content-range')]).toEqual([206, 'bytes 100-299/70000']);
    expect((await bytesOf(part)).equals(Buffer.from(bytes.subarray(100, 300)))).toBe(true);
    const head = await fetch(own, { headers, method: 'HEAD' });
    expect([head.status, head.headers.get('content-length')]).toEqual([200, '70000']);

    expect((await readResource(session.at(b), artifact.uri))?.equals(bytes)).toBe(true);
  });

  test('a URL ends with its time, and opens nothing else', async () => {
    const session = await openSession(a);
    const { handle } = await uploadedOne(a, session.sessionId, 'mine.bin');
    const url = String(seenBy(await session.at(a).tool('read_url', { url: handle })).path);
    expect((await fetch(url, { method: 'DELETE' })).status).toBe(403);
    expect((await fetch(url.replace('mine.bin', 'other.bin'))).status).toBe(403);
    expect((await fetch(at({ url: s3.endpoint }, url).replace(/\?.*/, ''))).status).toBe(403);
  });

  test('the end of a session empties the bucket of its files', async () => {
    const [session, other] = [await openSession(a), await openSession(b)];
    await uploadedOne(a, session.sessionId, 'one.bin');
    await uploadedOne(b, session.sessionId, 'two.bin');
    await session.at(a).tool('write_file', { output_path: 'three.bin', seed: 'x', size: 10 });
    await uploadedOne(b, other.sessionId, 'other.bin');
    expect(await held(session)).toEqual(['artifacts/three.bin', 'uploads/one.bin', 'uploads/two.bin']);
    expect((await session.at(b).end()).status).toBe(200);
    await eventually(() => held(session)).toEqual([]);
    expect(await held(other)).toEqual(['uploads/other.bin']);
  });

  test('what a crash has left in the bucket is removed, and nothing that others put there', async () => {
    const session = await openSession(a);
    await uploadedOne(a, session.sessionId, 'kept.bin');
    const orphan = join(s3.objects, PREFIX, 'uploads/sessions', 'a'.repeat(32), 'b'.repeat(32), 'orphan.bin');
    const foreign = [join(s3.objects, PREFIX, 'uploads/sessions/notes.txt'), join(s3.objects, 'uploads/x.txt')];
    for (const path of [orphan, ...foreign]) {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, 'x');
    }
    await using sweeper = await startSweeper();
    expect(sweeper.port).toBeGreaterThan(0);
    await eventually(() => readFile(orphan, 'utf8').catch(() => 'gone'), 100).toBe('gone');
    expect(await held(session)).toEqual(['uploads/kept.bin']);
    for (const path of foreign) expect(await readFile(path, 'utf8')).toBe('x');
  });

  test(
    'a replica that dies while it sends a large file leaves nothing in the bucket',
    { timeout: 240_000 },
    async () => {
      const sent = Promise.withResolvers<void>();
      await using proxy = await startProxy(s3.endpoint, (request) => {
        if (!/partNumber=2/.test(request.url ?? '')) return false;
        sent.resolve();
        // Never answered.
        return true;
      });
      await using folder = await sharedFolder();
      const config = fileConfig(folder.path, tools.url, {
        ...pair.shared,
        uploads: { max_file_bytes: '100Mi' },
        storage: { s3: { ...pair.shared.storage.s3, endpoint: proxy.url } },
      });
      const victim = started.use(await startAdapter({ config, env: s3.env }));
      const session = await openSession(a);
      const sending = statusAndBody(upload(victim, session.sessionId, [formFile('large.bin', LARGE)])).catch(
        () => 'broken off',
      );
      await within(60_000, 'the second part of the file', sent.promise);
      victim.kill();
      expect(await sending).toBe('broken off');
      const client = new S3Client({
        endpoint: s3.endpoint,
        region: 'us-east-1',
        forcePathStyle: true,
        credentials: s3,
      });
      started.defer(() => client.destroy());
      const unfinished = async (): Promise<number> => {
        const { Uploads } = await client.send(new ListMultipartUploadsCommand({ Bucket: s3.bucket }));
        return Uploads?.length ?? 0;
      };
      expect(await unfinished()).toBe(1);

      await using sweeper = await startSweeper({ NODE_OPTIONS: `--import ${CLOCK}`, CLOCK_AHEAD_MS: '70000' });
      expect(sweeper.port).toBeGreaterThan(0);
      // Another one that was ended in the middle of a cleanup holds its lock for a minute.
      await expect.poll(unfinished, { timeout: 90_000, interval: 100 }).toBe(0);
      expect(await held(session)).toEqual([]);
    },
  );

  test('a bucket that does not exist ends the start, with what to do', async () => {
    const config = fileConfig(pair.roots[0], tools.url, {
      storage: { s3: { ...pair.shared.storage.s3, bucket: 'nowhere' } },
    });
    const { code, stderr, stdout } = await runAdapter({ config, env: s3.env });
    expect(code).toBe(1);
    expect(stderr).toContain(
      `cannot start: storage.s3: there is no bucket nowhere at ${s3.endpoint}. Name an existing`,
    );
    expect(stdout + stderr).not.toContain(s3.secretAccessKey);
  });

  test('while the bucket is away, uploads are refused as a whole and come through afterwards', async () => {
    const session = await openSession(a);
    await s3.stop();
    try {
      const refused = await statusAndBody(upload(a, session.sessionId, [formFile('x.bin'), formFile('y.bin')]));
      expect(refused).toMatchObject([503, { code: 'storage_unavailable' }]);
      expect(await lyingAt(pair.roots[0], session)).toEqual([]);
      const said = a.logs().filter(({ msg }) => msg === 'unexpected failure');
      expect(JSON.stringify(said)).toContain('ECONNREFUSED');
      expect(a.stdout() + a.stderr()).not.toContain(s3.secretAccessKey);
    } finally {
      await s3.start();
    }
    const { handle } = await uploadedOne(a, session.sessionId, 'x.bin');
    const seen = seenBy(await session.at(b).tool('read_url', { url: handle }));
    expect(seen).toMatchObject(contentSeen('x.bin'));
  });
});
