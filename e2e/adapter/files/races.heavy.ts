import { randomUUID } from 'node:crypto';
import { access } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { contentOf } from '../../support/file-tools.ts';
import { asObject } from '../../support/scripted-upstream/json-rpc.ts';
import { eventually } from '../kit/eventually.ts';
import { drain, openSession, type Session } from '../kit/session.ts';
import { artifactOf, at, readResource, resourceUris } from './kit/artifacts.ts';
import { type Crew, startCrew } from './kit/crew.ts';
import { leaveOrphan, lying, sizeOf } from './kit/folder.ts';
import { startHalfUpload } from './kit/half-upload.ts';
import { contentSeen, formFile, statusAndBody, upload, uploadedOne, uploadTo } from './kit/uploads.ts';

const SIZE = 20_000;
const SESSION_FILES = 10;
const ALL_FILES = 100;
const PARALLEL = 50;

describe.for([2, 3])('with %i replicas', (replicas) => {
  let crew: Crew;
  const open = (): Promise<Session> => openSession(crew.at(0));

  beforeAll(async () => {
    crew = await startCrew({
      replicas,
      config: {
        core: { cleanup_interval_seconds: 0.05 },
        storage: { max_size: ALL_FILES * SIZE, orphan_sweeper_grace_seconds: 0 },
        sessions: { max_total_session_size: SESSION_FILES * SIZE },
        uploads: { ttl_seconds: null },
        artifacts: { ttl_seconds: null },
      },
    });
  });
  afterAll(() => crew?.[Symbol.asyncDispose]());

  /** Resolves when every replica may have cleaned up since: what is certain to be removed is gone, several times. */
  async function cleanedUp(): Promise<void> {
    for (let pass = 0; pass < 3 * replicas; pass += 1) {
      const orphan = await leaveOrphan(crew.root, 'artifact', hexId(), hexId());
      await eventually(() => exists(orphan), 20).toBe(false);
    }
  }

  test('the cleanup runs while a tool writes slowly: the file is kept and whole', async () => {
    const session = await open();
    const gate = randomUUID();
    const args = { output_path: 'slow.bin', seed: 'slow', size: SIZE, hold: gate };
    const answer = session.at(crew.at(0)).tool('write_file', args);
    await crew.tools.arrived(gate);
    await cleanedUp();
    await crew.tools.open(gate);
    const artifact = artifactOf(await answer);
    await cleanedUp();
    const bytes = await readResource(session.at(crew.at(1)), artifact.uri);
    expect(bytes?.equals(contentOf('slow', SIZE))).toBe(true);
    expect(await resourceUris(session.at(crew.at(1)))).toEqual([artifact.uri]);
    await drain(session.at(crew.at(1)).end());
  });

  test('the cleanup runs while an upload arrives slowly: it is kept and whole', async () => {
    const session = await open();
    const slow = startHalfUpload(crew.at(0), session.sessionId, SIZE);
    await slow.begun(crew.root);
    await cleanedUp();
    expect(await slow.finish()).toMatchObject([200, { upload: { size_bytes: SIZE } }]);
    await drain(session.at(crew.at(1)).end());
  });

  test('all replicas evict for one session at once: the quota holds, and what is left is whole', async () => {
    const session = await open();
    const sent = await Promise.all(
      Array.from({ length: 3 * SESSION_FILES }, async (_, turn) => {
        const file = formFile(`file-${turn}`, SIZE);
        return { file, answer: await statusAndBody(upload(crew.at(turn), session.sessionId, [file])) };
      }),
    );
    const taken = sent.flatMap(({ file, answer: [status, body] }) => {
      // Those that found only files in their way which were still being written.
      if (status === 507) expect(body).toMatchObject({ code: 'session_quota' });
      else expect([status, body]).toMatchObject([200, { count: 1 }]);
      return status === 200 ? [{ file, handle: String(asObject(body).upload_handle) }] : [];
    });
    expect(taken.length).toBeGreaterThanOrEqual(SESSION_FILES);

    const alive = await Promise.all(
      taken.map(async ({ file, handle }, turn) => {
        const { result } = await session.at(crew.at(turn)).tool('read_file', { path: handle });
        const { isError, structuredContent } = asObject(result);
        // Refused by the adapter, never by a tool that found no file.
        if (isError === true) expect(JSON.stringify(result)).not.toContain('ENOENT');
        else expect(structuredContent).toMatchObject({ files: [contentSeen(file.name, SIZE)] });
        return isError !== true;
      }),
    );
    expect(alive.filter(Boolean)).toHaveLength(SESSION_FILES);
    await eventually(() => ofSession(session), 20).toHaveLength(SESSION_FILES);
    expect(sizeOf(await ofSession(session))).toBe(SESSION_FILES * SIZE);
    await drain(session.at(crew.at(1)).end());
  });

  test('a session is ended while an upload to it arrives: nothing of it stays', async () => {
    const session = await open();
    const slow = startHalfUpload(crew.at(0), session.sessionId, SIZE);
    await slow.begun(crew.root);
    expect(await drain(session.at(crew.at(1)).end())).toBe(200);
    expect(await slow.finish()).toMatchObject([404, { code: gone }]);
    await eventually(() => ofSession(session), 20).toEqual([]);
  });

  test('a session is ended among many uploads to it: each is told whether it came too late, and nothing stays', async () => {
    const session = await open();
    const answers = Array.from({ length: SESSION_FILES }, (_, turn) =>
      statusAndBody(upload(crew.at(turn), session.sessionId, [formFile(`file-${turn}`, SIZE)])),
    );
    await Promise.race(answers);
    expect(await drain(session.at(crew.at(1)).end())).toBe(200);
    for (const [status, body] of await Promise.all(answers)) {
      if (status !== 200) expect([status, body]).toMatchObject([404, { code: gone }]);
    }
    await eventually(() => ofSession(session), 20).toEqual([]);
  });

  test('T7: a session is ended while a tool writes its file: nothing of it stays', async () => {
    const session = await open();
    const gate = randomUUID();
    const call = session.at(crew.at(0)).request('tools/call', {
      name: 'write_file',
      arguments: { output_path: 'late.bin', hold: gate },
    });
    await crew.tools.arrived(gate);
    expect(await drain(session.at(crew.at(1)).end())).toBe(200);
    // Its answer has begun as a stream, so the end is told there.
    expect(await (await call).text()).toContain('session_ended');
    await crew.tools.open(gate);
    await cleanedUp();
    await eventually(() => ofSession(session), 20).toEqual([]);
  });

  test('50 uploads at once to many sessions: what all of them may take up is never exceeded, and fits exactly', async () => {
    expect(await lying(crew.root)).toEqual([]);
    const sessions = await Promise.all(Array.from({ length: PARALLEL }, open));
    const size = 3 * SIZE;
    const fitting = Math.floor((ALL_FILES * SIZE) / size);
    const watching = new AbortController();
    const highest = highWater(crew.root, watching.signal);
    const answers = await Promise.all(
      sessions.map(({ sessionId }, turn) =>
        statusAndBody(upload(crew.at(turn), sessionId, [formFile(`file-${turn}`, size)])),
      ),
    );
    watching.abort();
    expect(await highest).toBeLessThanOrEqual(ALL_FILES * SIZE);
    for (const [status, body] of answers.filter(([status]) => status !== 200)) {
      expect([status, body]).toMatchObject([507, { code: 'storage_quota' }]);
    }
    // Two that hold a part each can both find no room for the rest; the next one then finds it.
    let taken = answers.filter(([status]) => status === 200).length;
    for (; taken < fitting; taken += 1) {
      const { sessionId } = await open();
      await uploadedOne(crew.at(taken), sessionId, 'one-more', size);
    }
    const last = await open();
    const rest = ALL_FILES * SIZE - fitting * size;
    expect(await statusAndBody(upload(crew.at(0), last.sessionId, [formFile('over', rest + 1)]))).toMatchObject([
      507,
      {},
    ]);
    await uploadedOne(crew.at(1), last.sessionId, 'exact', rest);
    await eventually(async () => sizeOf(await lying(crew.root)), 20).toBe(ALL_FILES * SIZE);
    await Promise.all([...sessions, last].map((session, turn) => drain(session.at(crew.at(turn)).end())));
  });

  test('50 uploads at once to one session never exceed what it may take up', async () => {
    const session = await open();
    const watching = new AbortController();
    const highest = highWater(crew.root, watching.signal);
    const size = SIZE / 2;
    const answers = await Promise.all(
      Array.from({ length: PARALLEL }, (_, turn) =>
        statusAndBody(upload(crew.at(turn), session.sessionId, [formFile(`file-${turn}`, size)])),
      ),
    );
    watching.abort();
    await highest;
    expect(answers.filter(([status]) => status === 200).length).toBeGreaterThanOrEqual(2 * SESSION_FILES);
    await eventually(async () => sizeOf(await ofSession(session)), 20).toBe(SESSION_FILES * SIZE);
    await drain(session.at(crew.at(1)).end());
  });

  test('T16: an upload URL that is used twice at once works once', async () => {
    const session = await open();
    for (let turn = 0; turn < 10; turn += 1) {
      const { result } = await session.at(crew.at(turn)).tool('up_get_upload_url');
      // Without authentication only the URL of the page carries a permission.
      const url = String(asObject(asObject(result).structuredContent).page_url);
      const both = await Promise.all(
        [turn, turn + 1].map((which) => statusAndBody(uploadTo(at(crew.at(which), url), [formFile('one', 10)]))),
      );
      const [first, second] = both.toSorted(([one], [other]) => one - other);
      expect(first).toMatchObject([200, { count: 1 }]);
      expect(second).toMatchObject([401, { code: 'upload_url_invalid' }]);
    }
    expect(await ofSession(session)).toHaveLength(10);
    await drain(session.at(crew.at(1)).end());
  });

  const ofSession = async ({ sessionId }: Session) =>
    (await lying(crew.root)).filter(({ path }) => path.includes(`/${sessionId}/`));
});

/** It depends on who is faster, the end of the session or the upload. */
const gone = expect.stringMatching(/^session_(ended|not_found)$/) as string;

const hexId = (): string => randomUUID().replaceAll('-', '');

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/** The most bytes that were ever seen on the disk, until the signal. */
async function highWater(root: string, signal: AbortSignal): Promise<number> {
  let most = 0;
  while (!signal.aborted) most = Math.max(most, sizeOf(await lying(root)));
  return most;
}
