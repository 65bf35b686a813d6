import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';

import { PutObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { s3Client } from './s3-client.ts';
import { putObject } from './s3-put.ts';
import { recordOf } from '../testing/sources.ts';

const TEXT = 'the bytes of a file';
const OBJECT = { Bucket: 'files', Key: 'object' };

let answer: (request: IncomingMessage, response: ServerResponse) => void;
let server: ReturnType<typeof createServer>;
let client: S3Client;

beforeEach(async () => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'key');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret');
  server = createServer((request, response) => answer(request, response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const settings = { bucket: 'files', prefix: '', endpoint, public_endpoint: null, region: 'us-east-1' };
  client = s3Client({ ...settings, force_path_style: null, presign_ttl_seconds: 900 }, endpoint);
});
afterEach(() => {
  vi.unstubAllEnvs();
  client.destroy();
  server.closeAllConnections();
  server.close();
});

const ours = (read: () => Readable): Promise<void> =>
  putObject(
    OBJECT,
    { size: TEXT.length, read },
    {
      client,
      sha256: recordOf(TEXT).sha256,
      isPassing: () => true,
      signal: AbortSignal.timeout(5_000),
      pauseMs: 1,
    },
  );
const library = (read: () => Readable): Promise<unknown> =>
  client.send(new PutObjectCommand({ ...OBJECT, Body: read(), ContentLength: TEXT.length }), {
    abortSignal: AbortSignal.timeout(500),
  });
const whole = (): Readable => Readable.from([Buffer.from(TEXT)], { objectMode: false });
const outcome = (sending: Promise<unknown>): Promise<string> =>
  sending.then(
    () => 'sent',
    (error: Error) => error.message,
  );

describe('why putObject is not the PutObjectCommand of the SDK alone', () => {
  test('the SDK signs no hash of a stream, so the server would take other bytes', async () => {
    const hashes: unknown[] = [];
    answer = (request, response) => {
      hashes.push(request.headers['x-amz-content-sha256']);
      request.resume().once('end', () => response.end());
    };
    await library(whole);
    await ours(whole);
    expect(hashes).toEqual(['UNSIGNED-PAYLOAD', recordOf(TEXT).sha256]);
  });

  test('the SDK does not repeat a request whose body is a stream', async () => {
    let requests = 0;
    answer = (request, response) => {
      requests += 1;
      const status = requests === 1 ? 503 : 200;
      request.resume().once('end', () => response.writeHead(status).end());
    };
    expect(await outcome(library(whole))).not.toBe('sent');
    expect(requests).toBe(1);
    requests = 0;
    expect(await outcome(ours(whole))).toBe('sent');
    expect(requests).toBe(2);
  });

  test('the SDK waits on after the stream of a body has failed', async () => {
    answer = (request) => void request.resume().on('error', () => undefined);
    const bytes = async function* (): AsyncGenerator<Buffer> {
      yield Buffer.from(TEXT.slice(0, 3));
      await delay(20);
      throw new Error('EIO');
    };
    // Without a listener, this failure would end the process.
    const failing = (): Readable => Readable.from(bytes(), { objectMode: false }).once('error', () => undefined);
    expect(await outcome(library(failing))).not.toBe('EIO');
    expect(await outcome(ours(failing))).toBe('EIO');
  });
});
