import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { RunningAdapter } from '../../support/adapter-process.ts';
import { sha256Of, startFileTools } from '../../support/file-tools.ts';
import { S3_START_MS, startS3, type TestS3, whyNoS3Server } from '../../support/s3.ts';
import type { JsonObject } from '../../support/scripted-upstream/json-rpc.ts';
import { secret } from '../../support/secrets/secret.ts';
import { readResource } from '../files/kit/artifacts.ts';
import { startBucketPair } from '../files/kit/bucket-pair.ts';
import { withEntries } from '../files/kit/settings.ts';
import { openSession } from '../kit/session.ts';
import { oneOf, problemsOf, ROLES, saidBy, textFile } from './kit/roles.ts';

const unavailable = await whyNoS3Server();
const started = new AsyncDisposableStack();
let s3: TestS3;
let a: RunningAdapter;
let b: RunningAdapter;

beforeEach(({ skip }) => {
  if (unavailable !== undefined) skip(unavailable);
});
beforeAll(async () => {
  if (unavailable !== undefined) return;
  s3 = started.use(await startS3(secret('key of S3')));
  const tools = started.use(await startFileTools());
  const byUrl: JsonObject = { type: 'files', tools: ['read_url'], arguments: { url: { role: 'in', as: 'url' } } };
  const changes = { ...withEntries(tools.url, byUrl, ...ROLES), files: { versions: 1 } };
  ({ a, b } = await startBucketPair(started, s3, tools.url, changes));
}, S3_START_MS);
afterAll(() => started.disposeAsync());

/** Names of the objects of one session. */
async function held(sessionId: string): Promise<string[]> {
  const folder = join(s3.objects, 'artifacts/sessions', sessionId);
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
}

test('replicas that share a bucket and no folder change a file in turn', async () => {
  const session = await openSession(a);
  const [at, other] = [session.at(a), session.at(b)];
  const uri = await textFile(at, 'one\n');
  expect(oneOf(await other.tool('append_line', { path: uri, line: 'two' })).version).toBe(2);
  const third = oneOf(await at.tool('append_line', { path: uri, line: 'three' }));
  expect(third.version).toBe(3);
  expect(String(await readResource(other, uri))).toBe('one\ntwo\nthree\n');
  const url = await at.tool('read_url', { url: uri });
  expect(saidBy(url)).toContain(sha256Of('one\ntwo\nthree\n'));
  expect(JSON.stringify(url)).not.toContain(s3.endpoint);
  // The version before, and none before that.
  await expect.poll(() => held(session.sessionId)).toHaveLength(2);
  expect((await session.at(b).end()).status).toBe(200);
  await expect.poll(() => held(session.sessionId)).toEqual([]);
});

test('a bucket that is away leaves the version before', async () => {
  const session = await openSession(a);
  const uri = await textFile(session.at(a), 'kept\n');
  await s3.stop();
  try {
    const result = await session.at(a).tool('append_line', { path: uri, line: 'lost' });
    expect(problemsOf(result)).toMatchObject([{ code: 'storage_unavailable' }]);
    expect(String(await readResource(session.at(a), uri))).toBe('kept\n');
  } finally {
    await s3.start();
  }
});
