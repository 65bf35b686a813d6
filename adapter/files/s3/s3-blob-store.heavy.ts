import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CreateMultipartUploadCommand, ListMultipartUploadsCommand, UploadPartCommand } from '@aws-sdk/client-s3';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { S3 } from '../../../crds/config/adapter-file/storage.ts';
import { FileRefused, type FileKey } from '../keys/file-key.ts';
import { s3Client } from './s3-client.ts';
import { S3BlobStore } from './s3-blob-store.ts';
import { type BlobStore, BlobStoreFailed } from './blob-store.ts';
import { startProxy } from '../testing/proxy.ts';
import { S3_START_MS, startS3, type TestS3, whyNoS3Server } from '../testing/s3-server.ts';
import { bytesOf, collected, recordOf, Sources } from '../testing/sources.ts';

const MiB = 1024 * 1024;
const unavailable = await whyNoS3Server();

describe('a bucket', () => {
  let server: TestS3;
  let sources: Sources;
  const homes: BlobStore[] = [];

  beforeAll(async () => {
    if (unavailable !== undefined) return;
    server = await startS3();
    sources = await Sources.create();
  }, S3_START_MS);
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    await sources?.[Symbol.asyncDispose]();
  });
  beforeEach(({ skip }) => {
    if (unavailable !== undefined) skip(unavailable);
    for (const [name, value] of Object.entries(server.env)) vi.stubEnv(name, value);
  });
  afterEach(() => {
    vi.unstubAllEnvs();
    for (const blobStore of homes.splice(0)) blobStore.close();
  });

  const settings = (changes: Partial<S3> = {}): S3 => ({
    bucket: server.bucket,
    prefix: '',
    endpoint: server.endpoint,
    public_endpoint: null,
    region: 'us-east-1',
    force_path_style: null,
    presign_ttl_seconds: 900,
    ...changes,
  });
  const open = (changes: Partial<S3> = {}): BlobStore => {
    const blobStore = new S3BlobStore(settings(changes));
    homes.push(blobStore);
    return blobStore;
  };
  const all = async (blobStore: BlobStore): Promise<FileKey[]> =>
    (await collected(blobStore.items(AbortSignal.timeout(20_000)))).map(placeOf);
  const placeOf = ({ kind, sessionId, fileId, filename }: FileKey): FileKey => ({
    kind,
    sessionId,
    fileId,
    filename,
  });

  describe('a file', () => {
    test.each([
      'report.pdf',
      'größe 100%+&=?#.txt',
      `it's (a) "quoted" \\ *name*.txt`,
      '日本語',
      `${'n'.repeat(251)}.txt`,
    ])('comes back as it was, by its name %j', async (filename) => {
      const blobStore = open();
      const record = recordOf('the bytes', { filename });
      expect(await blobStore.has(record)).toBe(false);
      await blobStore.put(record, await sources.of('the bytes'));
      expect(await blobStore.has(record)).toBe(true);
      expect(String(await bytesOf(await blobStore.get(record)))).toBe('the bytes');
      const response = await fetch(await blobStore.url(record, { expiresInSeconds: 60, as: 'attachment' }));
      expect([response.status, await response.text()]).toEqual([200, 'the bytes']);
      expect(await all(blobStore)).toContainEqual(placeOf(record));
      await blobStore.remove([record]);
      expect(await blobStore.has(record)).toBe(false);
    });

    test('may be empty', async () => {
      const blobStore = open();
      const record = recordOf('');
      await blobStore.put(record, await sources.of(''));
      expect(await bytesOf(await blobStore.get(record))).toEqual(Buffer.alloc(0));
    });

    test('lies at its path behind the prefix, with its type, its hash and its name', async () => {
      const blobStore = open({ prefix: 'team/a-' });
      const record = recordOf('x', { kind: 'artifact', filename: 'größe.png', mimeType: 'image/png' });
      await blobStore.put(record, await sources.of('x'));
      const key = `team/a-artifacts/sessions/${record.sessionId}/${record.fileId}/größe.png`;
      expect(await readFile(join(server.objects, key), 'utf8')).toBe('x');
      const response = await fetch(await blobStore.url(record, { expiresInSeconds: 60, as: 'inline' }));
      expect(Object.fromEntries(response.headers)).toMatchObject({
        'content-type': 'image/png',
        'content-disposition': `inline; filename="gr__e.png"; filename*=UTF-8''gr%C3%B6%C3%9Fe.png`,
        'x-amz-meta-sha256': record.sha256,
      });
      // Others that look into the bucket.
      expect(await all(open({ prefix: 'team/' }))).toEqual([]);
    });

    test('replaces what was there', async () => {
      const blobStore = open();
      const record = recordOf('second');
      await blobStore.put({ ...record, sha256: null }, await sources.of('first'));
      await blobStore.put(record, await sources.of('second'));
      expect(String(await bytesOf(await blobStore.get(record)))).toBe('second');
    });

    test('whose type no header can hold is one of bytes', async () => {
      const blobStore = open();
      const record = recordOf('x', { mimeType: 'text/plain\r\nX-Evil: 1' });
      await blobStore.put(record, await sources.of('x'));
      const { headers } = await fetch(await blobStore.url(record, { expiresInSeconds: 60, as: 'attachment' }));
      expect(headers.get('content-type')).toBe('application/octet-stream');
    });

    test('that is not the one of its record is refused by the server', async () => {
      const blobStore = open();
      const record = recordOf('what was uploaded');
      const swapped = await sources.of('what is there now');
      await expect(blobStore.put(record, swapped)).rejects.toMatchObject({ name: 'FileRefused', reason: 'changed' });
      expect(await blobStore.has(record)).toBe(false);
    });

    test.each([null, recordOf('the bytes').sha256])(
      'that gets shorter meanwhile is refused at once',
      async (sha256) => {
        const blobStore = open();
        const record = recordOf('the bytes', { sha256 });
        const source = await sources.of('the byte');
        const started = performance.now();
        await expect(blobStore.put(record, { ...source, size: 9 })).rejects.toMatchObject({ reason: 'changed' });
        expect(performance.now() - started).toBeLessThan(5_000);
        expect(await blobStore.has(record)).toBe(false);
      },
    );

    test('that is not there is missing', async () => {
      const blobStore = open();
      const record = recordOf('');
      await expect(blobStore.get(record)).rejects.toMatchObject({ reason: 'missing' });
      await expect(blobStore.get(record)).rejects.toBeInstanceOf(FileRefused);
      await blobStore.remove([record]);
      await blobStore.remove([record, recordOf('')]);
    });
  });

  describe('a presigned URL', () => {
    test('gives a part of the file too', async () => {
      const blobStore = open();
      const record = recordOf('0123456789');
      await blobStore.put(record, await sources.of('0123456789'));
      const url = await blobStore.url(record, { expiresInSeconds: 60, as: 'attachment' });
      const response = await fetch(url, { headers: { range: 'bytes=2-4' } });
      expect([response.status, await response.text()]).toEqual([206, '234']);
    });

    test('works for its file, its method and its time only', async () => {
      const blobStore = open();
      const [record, other] = [recordOf('mine'), recordOf('theirs')];
      for (const [one, text] of [
        [record, 'mine'],
        [other, 'theirs'],
      ] as const) {
        await blobStore.put(one, await sources.of(text));
      }
      // Counted from the beginning of the second that it was signed in.
      const url = await blobStore.url(record, { expiresInSeconds: 4, as: 'attachment' });
      const statusOf = async (changed: string, init?: RequestInit): Promise<number> => {
        const response = await fetch(changed, init);
        await response.body?.cancel();
        return response.status;
      };
      expect(await statusOf(url.replace(record.fileId, other.fileId).replace(record.sessionId, other.sessionId))).toBe(
        403,
      );
      expect(await statusOf(url.replace('attachment', 'inline'))).toBe(403);
      expect(await statusOf(url, { method: 'PUT', body: 'x' })).toBe(403);
      expect(await statusOf(url)).toBe(200);
      await expect.poll(() => statusOf(url), { timeout: 10_000, interval: 200 }).toBe(403);
    });

    test('holds no secret and is for another name of the server where that is asked for', async () => {
      const { port } = new URL(server.endpoint);
      const blobStore = open({ public_endpoint: `http://localhost:${port}` });
      const record = recordOf('x');
      await blobStore.put(record, await sources.of('x'));
      const url = await blobStore.url(record, { expiresInSeconds: 999_999, as: 'attachment' });
      expect(new URL(url).host).toBe(`localhost:${port}`);
      expect(new URL(url).searchParams.get('X-Amz-Expires')).toBe('604800');
      expect(url).not.toContain(server.secretAccessKey);
      expect((await fetch(url)).status).toBe(200);
    });
  });

  describe('many files', () => {
    test('are listed page by page and removed in batches, and nothing else is touched', async () => {
      const blobStore = open({ prefix: 'many/' });
      const records = Array.from({ length: 2_005 }, (_, index) =>
        recordOf('', { kind: index % 2 === 0 ? 'upload' : 'artifact', filename: `f & <${index}>` }),
      );
      const folder = join(server.objects, 'many');
      // Put there without the server, which would take a while.
      await Promise.all(
        records.map(async ({ kind, sessionId, fileId, filename }) => {
          const item = join(folder, `${kind}s/sessions`, sessionId, fileId);
          await mkdir(item, { recursive: true });
          await writeFile(join(item, filename), 'x');
        }),
      );
      await writeFile(join(folder, 'uploads/sessions/notes.txt'), 'of somebody else');
      const sorted = (places: readonly FileKey[]) =>
        places
          .map(placeOf)
          .map((place) => JSON.stringify(place))
          .sort();
      const found = await collected(blobStore.items(AbortSignal.timeout(20_000)));
      expect(sorted(found)).toEqual(sorted(records));
      expect(Math.abs(Date.now() - (found[0]?.modifiedAt ?? 0))).toBeLessThan(60_000);

      await blobStore.remove(records.slice(1));
      expect(await all(blobStore)).toEqual([placeOf(records[0] ?? recordOf(''))]);
      expect(await readdir(join(folder, 'uploads/sessions'))).toContain('notes.txt');
    });

    test.each([501, 405, 400])('are removed one by one where the server answers %i to batches', async (status) => {
      await using proxy = await startProxy(server.endpoint, (request, response) => {
        if (request.method !== 'POST') return false;
        request.resume();
        const code = { 501: 'NotImplemented', 405: 'MethodNotAllowed', 400: 'InvalidRequest' }[status];
        response.writeHead(status, { 'content-type': 'application/xml' }).end(`<Error><Code>${code}</Code></Error>`);
        return true;
      });
      const blobStore = open({ endpoint: proxy.url, prefix: 'single/' });
      const records = Array.from({ length: 20 }, () => recordOf('x'));
      for (const record of records) await blobStore.put(record, await sources.of('x'));
      await blobStore.remove([...records.slice(0, 19), recordOf('never there')]);
      expect(await all(blobStore)).toEqual([placeOf(records[19] ?? recordOf(''))]);
      await blobStore.remove(records.slice(18));
      expect(proxy.seen.filter((line) => line.startsWith('POST')).length).toBeLessThanOrEqual(3);
      expect(await all(blobStore)).toEqual([]);
    });

    test('that a crash has left half sent are listed, and removed for good', async () => {
      const client = s3Client(settings(), server.endpoint);
      const blobStore = open({ prefix: 'half/' });
      const [left, kept] = [recordOf('x'), recordOf('y')];
      try {
        const begin = async (record: FileKey): Promise<void> => {
          const Key = `half/uploads/sessions/${record.sessionId}/${record.fileId}/${record.filename}`;
          const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket: server.bucket, Key }));
          await client.send(
            new UploadPartCommand({ Bucket: server.bucket, Key, UploadId, PartNumber: 1, Body: 'half of it' }),
          );
        };
        for (const record of [left, left, kept]) await begin(record);
        const unfinished = async (): Promise<string[]> => {
          const command = new ListMultipartUploadsCommand({ Bucket: server.bucket, Prefix: 'half/' });
          return (await client.send(command)).Uploads?.map(({ Key = '' }) => Key.split('/').at(-2) ?? '') ?? [];
        };
        const found = await collected(blobStore.items(AbortSignal.timeout(5_000)));
        expect(found.map(({ fileId }) => fileId).sort()).toEqual([left, left, kept].map(({ fileId }) => fileId).sort());
        expect(Math.abs(Date.now() - (found[0]?.modifiedAt ?? 0))).toBeLessThan(60_000);
        expect(await blobStore.has(left)).toBe(false);
        await blobStore.remove([left]);
        expect(await unfinished()).toEqual([kept.fileId]);
      } finally {
        client.destroy();
      }
    });

    test('a server that knows no uploads in parts is listed all the same', async () => {
      await using proxy = await startProxy(server.endpoint, (request, response) => {
        if (!/[?&]uploads/.test(request.url ?? '')) return false;
        const body = '<Error><Code>NotImplemented</Code></Error>';
        response.writeHead(501, { 'content-type': 'application/xml' }).end(body);
        return true;
      });
      const blobStore = open({ endpoint: proxy.url, prefix: 'plain/' });
      const record = recordOf('x');
      await blobStore.put(record, await sources.of('x'));
      expect(await all(blobStore)).toEqual([placeOf(record)]);
    });

    test('a listing ends with its signal', async () => {
      const blobStore = open();
      const stop = new AbortController();
      stop.abort(new Error('enough'));
      await expect(collected(blobStore.items(stop.signal))).rejects.toThrow('enough');
    });
  });

  describe('what cannot be used says why, without secrets', () => {
    const failure = async (blobStore: BlobStore, reason: string): Promise<string> => {
      const record = recordOf('x');
      const source = await sources.of('x');
      const failures = await Promise.allSettled([
        blobStore.check(),
        blobStore.put(record, source),
        blobStore.get(record),
        blobStore.has(record),
        blobStore.remove([record]),
        blobStore.remove([record, recordOf('y')]),
        all(blobStore),
      ]);
      for (const [index, outcome] of failures.entries()) {
        if (outcome.status === 'fulfilled') throw new Error(`${index} went well`);
        expect(outcome.reason, String(outcome.reason)).toBeInstanceOf(BlobStoreFailed);
        expect(outcome.reason).toMatchObject({ reason });
        expect(JSON.stringify([outcome.reason, String(outcome.reason)])).not.toContain(server.secretAccessKey);
      }
      return failures.map((outcome) => (outcome.status === 'rejected' ? String(outcome.reason) : '')).join('\n');
    };

    test('a wrong secret', async () => {
      vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'wrong-secret');
      const said = await failure(open(), 'refused');
      expect(said).toContain('SignatureDoesNotMatch, HTTP 403');
      expect(said).not.toContain('wrong-secret');
    });

    test('an unknown key', async () => {
      vi.stubEnv('AWS_ACCESS_KEY_ID', 'KUNKNOWN');
      expect(await failure(open(), 'refused')).toContain('UserNotFound');
    });

    test('no credentials', async () => {
      vi.stubEnv('AWS_ACCESS_KEY_ID', undefined);
      vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', '/nonexistent');
      vi.stubEnv('AWS_CONFIG_FILE', '/nonexistent');
      const blobStore = open();
      expect(await failure(blobStore, 'refused')).toContain('set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY');
      await expect(blobStore.url(recordOf(''), { expiresInSeconds: 1, as: 'inline' })).rejects.toMatchObject({
        reason: 'refused',
      });
    });

    test('a bucket that does not exist', async () => {
      expect(await failure(open({ bucket: 'other' }), 'refused')).toContain('other');
    });

    test('a server that is not there', async () => {
      expect(await failure(open({ endpoint: 'http://127.0.0.1:9' }), 'unreachable')).toContain('ECONNREFUSED');
    });
  });

  describe('a server in trouble', () => {
    test('is asked again', async () => {
      let refusals = 0;
      await using proxy = await startProxy(server.endpoint, (request, response) => {
        if (refusals >= 2) return false;
        refusals += 1;
        request.resume();
        response.writeHead(503, { 'content-type': 'application/xml' }).end('<Error><Code>SlowDown</Code></Error>');
        return true;
      });
      const blobStore = open({ endpoint: proxy.url });
      const record = recordOf('patience');
      await blobStore.put(record, await sources.of('patience'));
      expect(proxy.seen.length).toBe(3);
      refusals = 0;
      expect(String(await bytesOf(await blobStore.get(record)))).toBe('patience');
    });

    test('does not make half a file a whole one', async () => {
      await using proxy = await startProxy(server.endpoint, (request, response) => {
        if (request.method !== 'GET') return false;
        response.writeHead(200, { 'content-length': '100000' }).write('x'.repeat(500));
        setTimeout(() => response.destroy(), 50);
        return true;
      });
      const reading = async (): Promise<Buffer> =>
        await bytesOf(await open({ endpoint: proxy.url }).get(recordOf('x')));
      await expect(reading()).rejects.toMatchObject({ name: 'BlobStoreFailed', reason: 'unreachable' });
    });

    test('that hangs is left when the caller has enough', async () => {
      const blobStore = open();
      const record = recordOf('x');
      const source = await sources.of('x');
      await blobStore.put(record, source);
      const reading = await blobStore.get(record);
      server.freeze();
      try {
        const started = performance.now();
        const enough = (): AbortSignal => AbortSignal.timeout(300);
        const outcomes = await Promise.allSettled([
          blobStore.put(recordOf('x'), source, enough()),
          blobStore.get(record, enough()),
          blobStore.has(record, enough()),
          blobStore.remove([record], enough()),
          blobStore.remove([record, recordOf('y')], enough()),
          blobStore.check(enough()),
          collected(blobStore.items(enough())),
        ]);
        for (const outcome of outcomes) {
          expect(outcome).toMatchObject({ status: 'rejected', reason: { name: 'TimeoutError' } });
        }
        expect(performance.now() - started).toBeLessThan(3_000);
      } finally {
        server.thaw();
      }
      expect(String(await bytesOf(reading))).toBe('x');
    });
  });

  test('a large file goes through without being held in memory', async () => {
    const blobStore = open();
    const chunk = Buffer.alloc(MiB, 'x');
    const size = 256 * MiB;
    const source = {
      size,
      read: async function* ({ start = 0, end = size - 1 } = {}) {
        for (let left = end - start + 1; left > 0; left -= chunk.length) yield chunk.subarray(0, left);
      },
    };
    const before = process.memoryUsage().rss;
    let most = before;
    const watch = setInterval(() => (most = Math.max(most, process.memoryUsage().rss)), 10);
    const record = recordOf('', { sizeBytes: size, sha256: null });
    try {
      await blobStore.put(record, source);
      let read = 0;
      for await (const part of await blobStore.get(record)) read += part.length;
      expect(read).toBe(size);
    } finally {
      clearInterval(watch);
      await blobStore.remove([record]);
    }
    // What was read and waits for the next garbage collection counts too.
    expect((most - before) / MiB).toBeLessThan(128);
  });
});
