import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { GetObjectCommand, ListMultipartUploadsCommand, type S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { s3Client } from './s3-client.ts';
import { putObject, type Source } from './s3-put.ts';
import { startProxy } from '../testing/proxy.ts';
import { S3_START_MS, startS3, type TestS3, whyNoS3Server } from '../testing/s3-server.ts';
import { recordOf, Sources } from '../testing/sources.ts';

const PART = 5 * 1024 * 1024;
const BYTES = randomBytes(2 * PART + 1234);
const unavailable = await whyNoS3Server();

describe('a file of three parts', () => {
  let server: TestS3;
  let sources: Sources;
  let client: S3Client;
  let keys = 0;

  const clientOf = (endpoint: string): S3Client =>
    s3Client(
      {
        bucket: 'files',
        prefix: '',
        endpoint,
        public_endpoint: null,
        region: 'us-east-1',
        force_path_style: null,
        presign_ttl_seconds: 900,
      },
      endpoint,
    );

  beforeEach(({ skip }) => {
    if (unavailable !== undefined) skip(unavailable);
  });
  beforeAll(async () => {
    if (unavailable !== undefined) return;
    server = await startS3();
    for (const [name, value] of Object.entries(server.env)) vi.stubEnv(name, value);
    sources = await Sources.create();
    client = clientOf(server.endpoint);
  }, S3_START_MS);
  afterAll(async () => {
    vi.unstubAllEnvs();
    client?.destroy();
    await server?.[Symbol.asyncDispose]();
    await sources?.[Symbol.asyncDispose]();
  });

  const newObject = () => ({ Bucket: server.bucket, Key: `object-${(keys += 1)}`, ContentType: 'text/plain' });
  const options = (changes: Partial<Parameters<typeof putObject>[2]> = {}) => ({
    client,
    sha256: recordOf(BYTES).sha256,
    isPassing: (error: unknown) => (error as { name?: string }).name === 'SlowDown',
    signal: AbortSignal.timeout(20_000),
    partBytes: PART,
    pauseMs: 1,
    ...changes,
  });
  const read = async ({ Bucket, Key }: { Bucket: string; Key: string }): Promise<Buffer | string> => {
    try {
      const { Body } = await client.send(new GetObjectCommand({ Bucket, Key }));
      return Buffer.from((await Body?.transformToByteArray()) ?? []);
    } catch (error) {
      return (error as Error).name;
    }
  };
  const unfinished = async (): Promise<number> => {
    const { Uploads } = await client.send(new ListMultipartUploadsCommand({ Bucket: server.bucket }));
    return Uploads?.length ?? 0;
  };

  test('comes as a whole', async () => {
    const object = newObject();
    await using proxy = await startProxy(server.endpoint, () => false);
    const slow = clientOf(proxy.url);
    await putObject(object, await sources.of(BYTES), options({ client: slow }));
    expect(Buffer.compare(Buffer.from(await read(object)), BYTES)).toBe(0);
    expect(proxy.seen.filter((line) => line.includes('partNumber')).length).toBe(3);
    slow.destroy();
  });

  test('comes also when nobody knows its hash', async () => {
    const object = newObject();
    await putObject(object, await sources.of(BYTES), options({ sha256: null }));
    expect(Buffer.compare(Buffer.from(await read(object)), BYTES)).toBe(0);
  });

  test('repeats only the part that failed', async () => {
    const object = newObject();
    let failures = 0;
    await using proxy = await startProxy(server.endpoint, (request, response) => {
      if (failures > 0 || !/partNumber=2/.test(request.url ?? '')) return false;
      failures += 1;
      request.resume();
      response.writeHead(503, { 'content-type': 'application/xml' }).end('<Error><Code>SlowDown</Code></Error>');
      return true;
    });
    const troubled = clientOf(proxy.url);
    await putObject(object, await sources.of(BYTES), options({ client: troubled }));
    expect(Buffer.compare(Buffer.from(await read(object)), BYTES)).toBe(0);
    expect(proxy.seen.filter((line) => line.includes('partNumber')).length).toBe(4);
    troubled.destroy();
  });

  test('that changed since it was recorded leaves nothing behind', async () => {
    const object = newObject();
    const changed = putObject(object, await sources.of(BYTES), options({ sha256: recordOf('other').sha256 }));
    await expect(changed).rejects.toMatchObject({ reason: 'changed' });
    expect([await read(object), await unfinished()]).toEqual(['NoSuchKey', 0]);
  });

  test('that changes between two looks is refused by the server', async () => {
    const object = newObject();
    const first = await sources.of(BYTES);
    const second = await sources.of(Buffer.from(BYTES).fill('x', PART + 5, PART + 6));
    let looks = 0;
    // Each part is read once for its hash, and once to be sent.
    const source: Source = {
      size: first.size,
      read: (range) => (range?.start === PART && (looks += 1) === 2 ? second : first).read(range),
    };
    await expect(putObject(object, source, options())).rejects.toMatchObject({ name: 'XAmzContentSHA256Mismatch' });
    expect([await read(object), await unfinished()]).toEqual(['NoSuchKey', 0]);
  });

  test('that cannot be read any more leaves nothing behind', async () => {
    const object = newObject();
    const good = await sources.of(BYTES);
    let reads = 0;
    const source: Source = {
      size: good.size,
      read: (range) => {
        reads += 1;
        if (reads < 4) return good.read(range);
        return (async function* () {
          yield BYTES.subarray(PART, PART + 10);
          throw new Error('EIO');
        })();
      },
    };
    await expect(putObject(object, source, options())).rejects.toThrow('EIO');
    expect([await read(object), await unfinished()]).toEqual(['NoSuchKey', 0]);
  });

  test('that nobody wants any more leaves nothing behind', async () => {
    const object = newObject();
    const stop = new AbortController();
    await using proxy = await startProxy(server.endpoint, (request) => {
      if (/partNumber=2/.test(request.url ?? '')) stop.abort(new Error('gone'));
      return false;
    });
    const stopped = clientOf(proxy.url);
    const sending = putObject(object, await sources.of(BYTES), options({ client: stopped, signal: stop.signal }));
    await expect(sending).rejects.toThrow('gone');
    await delay(50);
    expect([await read(object), await unfinished()]).toEqual(['NoSuchKey', 0]);
    stopped.destroy();
  });
});
