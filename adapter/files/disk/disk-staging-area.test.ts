import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readlinkSync } from 'node:fs';
import {
  chmod,
  link,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { diskCalls, immediate, patient } from './disk-calls.ts';
import { DiskStagingArea, type DiskStageOptions } from './disk-staging-area.ts';
import type { StagedItem } from './staging-area.ts';
import { TEMPORARY_NAME } from '../keys/paths.ts';
import { type FileKey, FileRefused, type OpenedFile } from '../keys/file-key.ts';

const newId = (): string => randomBytes(16).toString('hex');

const place = (changes: Partial<FileKey> = {}): FileKey => ({
  kind: 'upload',
  sessionId: newId(),
  fileId: newId(),
  filename: 'report.pdf',
  ...changes,
});

async function allOf(file: OpenedFile, range?: Parameters<OpenedFile['read']>[0]): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of file.read(range)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Descriptors of this process that lead below a folder. In one step: others open and close theirs meanwhile. */
function openBelow(folder: string): string[] {
  const links = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      // That of the list itself.
      return '';
    }
  });
  return links.filter((path) => path.startsWith(folder));
}

const refusal = async (opening: Promise<unknown>): Promise<string> =>
  opening.then(
    () => 'opened',
    (error: unknown) => (error instanceof FileRefused ? error.reason : Promise.reject(error)),
  );

let base: string;
let root: string;

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'disk-stage-'));
  root = join(base, 'shared');
});
afterEach(async () => {
  if (process.platform === 'linux') expect(openBelow(base)).toEqual([]);
  await rm(base, { recursive: true });
});

const opened = (changes: Partial<DiskStageOptions> = {}): Promise<DiskStagingArea> =>
  DiskStagingArea.open({ root, access: 'group', atomicWrites: true, locatorRoots: [], forbidden: [], ...changes });

async function stored(stage: DiskStagingArea, at: FileKey, content: string | Buffer = 'hello'): Promise<string> {
  const writer = await stage.create(at);
  await writer.write(Buffer.from(content));
  await writer.finish();
  return stage.pathOf(at);
}

const unknown = { disk: 'that nobody knows', anchored: false, calls: patient };
const ways =
  process.platform === 'linux'
    ? [
        { disk: 'of this machine', anchored: true, calls: immediate },
        { disk: 'of others', anchored: true, calls: patient },
        unknown,
      ]
    : [unknown];

describe.each(ways)('files of a disk $disk, reached through descriptors: $anchored', ({ anchored, calls }) => {
  /** What nothing else than descriptors can do. */
  const testThroughDescriptors = (name: string, run: () => Promise<void>): void => {
    if (anchored) test(name, run);
  };
  const stageOf = (changes: Partial<DiskStageOptions> = {}): Promise<DiskStagingArea> =>
    opened({ anchored, calls, ...changes });

  describe.each([true, false])('with atomic_writes: %s', (atomicWrites) => {
    test('what was written is read back, whole and in ranges', async () => {
      const stage = await stageOf({ atomicWrites });
      const at = place();
      const content = randomBytes(700_001);
      const writer = await stage.create(at);
      for (let i = 0; i < content.length; i += 100_000) await writer.write(content.subarray(i, i + 100_000));
      await writer.finish();
      await using file = await stage.open(at);
      expect(file.size).toBe(content.length);
      expect(file.path).toBe(join(root, 'uploads', 'sessions', at.sessionId, at.fileId, 'report.pdf'));
      expect(Math.abs(file.modifiedAt - Date.now())).toBeLessThan(60_000);
      expect((await allOf(file)).equals(content)).toBe(true);
      expect((await allOf(file, { start: 5, end: 9 })).equals(content.subarray(5, 10))).toBe(true);
      expect((await allOf(file, { start: 262_000, end: 263_000 })).equals(content.subarray(262_000, 263_001))).toBe(
        true,
      );
      expect((await allOf(file, { start: 700_000 })).equals(content.subarray(700_000))).toBe(true);
      expect(await allOf(file, { start: 700_001 })).toHaveLength(0);
    });

    test('an aborted file leaves nothing, not even its folder', async () => {
      const stage = await stageOf({ atomicWrites });
      const at = place();
      const writer = await stage.create(at);
      await writer.write(Buffer.from('half'));
      await writer.abort();
      await writer.abort();
      expect(await readdir(join(root, 'uploads', 'sessions', at.sessionId))).toEqual([]);
      expect(await refusal(stage.open(at))).toBe('missing');
    });

    test('aborting after the end does not harm the file', async () => {
      const stage = await stageOf({ atomicWrites });
      const at = place();
      const writer = await stage.create(at);
      await writer.finish();
      await writer.abort();
      await using file = await stage.open(at);
      expect(file.size).toBe(0);
      expect(await allOf(file)).toHaveLength(0);
    });

    test('a file of the same name is replaced, and a link in its place is not written through', async () => {
      const stage = await stageOf({ atomicWrites });
      const at = place();
      const victim = join(base, 'victim');
      await writeFile(victim, 'precious');
      await stage.prepare(at);
      await symlink(victim, stage.pathOf(at));
      await stored(stage, at, 'new');
      expect(await readFile(victim, 'utf8')).toBe('precious');
      expect((await lstat(stage.pathOf(at))).isFile()).toBe(true);
      expect(await readFile(stage.pathOf(at), 'utf8')).toBe('new');
    });

    test('a folder that is removed while the file is written makes it fail, and nothing comes back', async () => {
      const stage = await stageOf({ atomicWrites });
      const at = place();
      const writer = await stage.create(at);
      await writer.write(Buffer.from('half'));
      await stage.removeSession(at.sessionId);
      await expect(writer.finish()).rejects.toThrow(FileRefused);
      await writer.abort();
      expect(await readdir(join(root, 'uploads', 'sessions'))).toEqual([]);
    });

    test('a folder that is moved away while the file is written makes it fail, and takes no file along', async () => {
      const stage = await stageOf({ atomicWrites });
      const [at, other] = [place(), place()];
      await stored(stage, other, 'other');
      const writer = await stage.create(at);
      await writer.write(Buffer.from('half'));
      const sessions = join(root, 'uploads', 'sessions');
      const moved = join(sessions, other.sessionId, 'moved');
      await rename(join(sessions, at.sessionId, at.fileId), moved);
      await expect(writer.finish()).rejects.toThrow(FileRefused);
      await writer.abort();
      expect(await readdir(moved).catch(() => [])).toEqual(anchored ? [] : expect.anything());
    });
  });

  test('nobody sees a file before it is finished, and the temporary one says what it is', async () => {
    const stage = await stageOf();
    const at = place();
    const writer = await stage.create(at);
    await writer.write(Buffer.from('half'));
    expect(await refusal(stage.open(at))).toBe('missing');
    expect(await stage.filesIn(at)).toEqual([]);
    const [name = '', ...others] = await readdir(join(root, 'uploads', 'sessions', at.sessionId, at.fileId));
    expect(others).toEqual([]);
    expect(name).toMatch(TEMPORARY_NAME);
    await writer.finish();
    expect(await stage.filesIn(at)).toEqual(['report.pdf']);
  });

  test('a file that is replaced again and again is always there, as a whole', async () => {
    const stage = await stageOf();
    const at = place();
    await stored(stage, at, 'x'.repeat(1000));
    const over = new AbortController();
    const replacing = (async () => {
      for (let i = 0; !over.signal.aborted; i++) await stored(stage, at, `${i % 10}`.repeat(1000));
    })();
    for (let i = 0; i < 200; i++) {
      await using file = await stage.open(at);
      const content = (await allOf(file)).toString();
      expect(content).toBe(content.slice(0, 1).repeat(1000));
    }
    over.abort();
    await replacing;
  });

  test('who gives up writing a file does not take the folder away from who goes on', async () => {
    const stage = await stageOf();
    for (let i = 0; i < 40; i++) {
      const at = place();
      const first = await stage.create(at);
      await Promise.all([first.abort(), stored(stage, at)]);
      expect(await stage.filesIn(at)).toEqual(['report.pdf']);
    }
  });

  test('one file can be asked to be written atomically where others are not', async () => {
    const stage = await stageOf({ atomicWrites: false });
    const at = place();
    const writer = await stage.create(at, { atomic: true });
    await writer.write(Buffer.from('half'));
    expect(await refusal(stage.open(at))).toBe('missing');
    await writer.abort();
  });

  test.each([
    ['owner', 0o700, 0o600],
    ['group', 0o770, 0o660],
    ['all', 0o777, 0o666],
  ] as const)('access for %s, whatever the umask is', async (access, folder, file) => {
    const before = process.umask(0o077);
    try {
      const stage = await stageOf({ access });
      const at = place({ kind: 'artifact' });
      const path = await stored(stage, at);
      const mode = async (...parts: string[]): Promise<number> => (await stat(join(root, ...parts))).mode & 0o777;
      expect((await stat(path)).mode & 0o777).toBe(file);
      expect(await mode('artifacts')).toBe(folder);
      expect(await mode('artifacts', 'sessions')).toBe(folder);
      expect(await mode('artifacts', 'sessions', at.sessionId)).toBe(folder);
      expect(await mode('artifacts', 'sessions', at.sessionId, at.fileId)).toBe(folder);
    } finally {
      process.umask(before);
    }
  });

  test('a volume hands its group down: the set-group-id bit of a folder is kept', async () => {
    await mkdir(root);
    await chmod(root, 0o2770);
    if (((await stat(root)).mode & 0o2000) === 0) return;
    const stage = await stageOf();
    const at = place();
    await stored(stage, at);
    const item = await stat(join(root, 'uploads', 'sessions', at.sessionId, at.fileId));
    expect(item.mode & 0o7777).toBe(0o2770);
  });

  test('many files of one session at once', async () => {
    const stage = await stageOf();
    const sessionId = newId();
    const places = Array.from({ length: 40 }, (_, i) => place({ sessionId, filename: `${i}.txt` }));
    await Promise.all(places.map((at) => stored(stage, at, at.filename)));
    for (const at of places) expect(await readFile(stage.pathOf(at), 'utf8')).toBe(at.filename);
  });

  test('a session folder that somebody removes again and again does not stop a file', async () => {
    const stage = await stageOf();
    const sessionId = newId();
    await stored(stage, place());
    const sessions = join(root, 'uploads', 'sessions');
    const over = new AbortController();
    const sweeper = (async () => {
      while (!over.signal.aborted) {
        await stage.removeStray({
          kind: 'upload',
          sessionId,
          entry: null,
          fileId: null,
          temporary: [],
          modifiedAt: 0,
        });
        await delay(10);
      }
    })();
    try {
      for (let i = 0; i < 50; i++) {
        const at = place({ sessionId });
        await stored(stage, at);
        await stage.removeItem(at);
      }
    } finally {
      over.abort();
      await sweeper;
    }
    expect((await readdir(sessions)).length).toBeLessThanOrEqual(2);
  });

  describe('T7: ids and names that are none', () => {
    test.each(['..', '../..', '', '/etc', 'a'.repeat(32) + '/..', 'A'.repeat(32), '\0'.repeat(32)])(
      'the id %j reaches no path',
      async (id) => {
        const stage = await stageOf();
        for (const at of [place({ sessionId: id }), place({ fileId: id })]) {
          for (const attempt of [
            stage.open(at),
            stage.create(at),
            stage.prepare(at),
            stage.removeItem(at),
            stage.filesIn(at),
          ]) {
            expect(await refusal(attempt)).toBe('outside');
          }
        }
        expect(await refusal(stage.removeSession(id))).toBe('outside');
        expect(await refusal(stage.openOutput('/x', id))).toBe('outside');
      },
    );

    test.each(['..', '.', '', 'a/b', '../x', 'a\0b', '/etc/passwd'])(
      'the name %j reaches no path',
      async (filename) => {
        const stage = await stageOf();
        const at = place({ filename });
        for (const attempt of [stage.open(at), stage.create(at), stage.prepare(at), stage.rename(place(), filename)]) {
          expect(await refusal(attempt)).toBe('outside');
        }
      },
    );
  });

  describe('T7: what an upstream may put in the place of a file', () => {
    const prepared = async (): Promise<{ stage: DiskStagingArea; at: FileKey; path: string; secret: string }> => {
      const stage = await stageOf();
      const at = place({ kind: 'artifact' });
      const path = await stage.prepare(at);
      const secret = join(base, 'secret');
      await writeFile(secret, 'secret');
      return { stage, at, path, secret };
    };

    test('a link is refused', async () => {
      const { stage, at, path, secret } = await prepared();
      await symlink(secret, path);
      expect(await refusal(stage.open(at))).toBe('linked');
      expect(await refusal(stage.openOutput(path, at.sessionId))).toBe('linked');
    });

    test('a second name of another file is refused', async () => {
      const { stage, at, path, secret } = await prepared();
      await link(secret, path);
      expect(await refusal(stage.open(at))).toBe('linked');
      expect(await refusal(stage.openOutput(path, at.sessionId))).toBe('linked');
    });

    test('a FIFO is refused and nobody waits for its writer', async () => {
      const { stage, at, path } = await prepared();
      await make('mkfifo', path);
      expect(await refusal(stage.open(at))).toBe('not_a_file');
      expect(await refusal(stage.openOutput(path, at.sessionId))).toBe('not_a_file');
    });

    test('a folder is refused', async () => {
      const { stage, at, path } = await prepared();
      await mkdir(path);
      expect(await refusal(stage.open(at))).toBe('not_a_file');
      expect(await refusal(stage.openOutput(path, at.sessionId))).toBe('not_a_file');
    });

    test('a device is refused', async (context) => {
      if (process.getuid?.() !== 0) context.skip('making a device needs root');
      const { stage, at, path } = await prepared();
      await make('mknod', path, 'c', '1', '5');
      expect(await refusal(stage.open(at))).toBe('not_a_file');
      expect(await refusal(stage.openOutput(path, at.sessionId))).toBe('not_a_file');
    });

    test('a socket is refused', async () => {
      const { stage, at, path } = await prepared();
      // The path of a socket must be short when it is made.
      const server = createServer().listen(join(base, 'socket'));
      await once(server, 'listening');
      await rename(join(base, 'socket'), path);
      expect(await refusal(stage.open(at))).toBe('not_a_file');
      server.close();
      await once(server, 'close');
    });

    test.each(['item', 'session', 'sessions', 'kind'] as const)(
      'a link instead of the folder of the %s is refused',
      async (level) => {
        const { stage, at, path } = await prepared();
        const folders = {
          item: join(path, '..'),
          session: join(path, '..', '..'),
          sessions: join(path, '..', '..', '..'),
          kind: join(path, '..', '..', '..', '..'),
        };
        await writeFile(path, 'tool');
        const elsewhere = join(base, 'elsewhere');
        await rename(folders[level], elsewhere);
        await symlink(elsewhere, folders[level]);
        const before = await tree(elsewhere);
        expect(await refusal(stage.open(at))).toBe('linked');
        expect(await refusal(stage.openOutput(path, at.sessionId))).toBe('linked');
        expect(await refusal(stage.create(at))).not.toBe('opened');
        expect(await refusal(stage.prepare(at))).not.toBe('opened');
        await stage.removeSession(at.sessionId).catch(() => undefined);
        await stage.removeItem(at).catch(() => undefined);
        await stage.keepOnly({ ...at, filename: 'x' }).catch(() => undefined);
        await items(stage, 'artifact').catch(() => undefined);
        expect(await tree(elsewhere)).toEqual(before);
      },
    );

    test('a file that becomes shorter while it is read is no whole file', async () => {
      const { stage, at, path } = await prepared();
      await writeFile(path, randomBytes(600_000));
      await using file = await stage.open(at);
      const reading = file.read()[Symbol.asyncIterator]();
      await reading.next();
      await truncate(path, 1000);
      expect(await refusal(reading.next())).toBe('changed');
    });

    test('a file that grows while it is read ends where it ended', async () => {
      const { stage, at, path } = await prepared();
      await writeFile(path, 'tool');
      await using file = await stage.open(at);
      await writeFile(path, 'tool and more');
      expect((await allOf(file)).toString()).toBe('tool');
    });

    test('a file that is replaced after it was opened stays the one that was checked', async () => {
      const { stage, at, path, secret } = await prepared();
      await writeFile(path, 'tool');
      await using file = await stage.open(at);
      await rm(path);
      await symlink(secret, path);
      expect((await allOf(file)).toString()).toBe('tool');
    });
  });

  describe('files that tools wrote elsewhere', () => {
    const own = (sessionId: string, ...rest: string[]): string =>
      join(root, 'artifacts', 'sessions', sessionId, ...rest);

    test('anywhere below the two folders of the session', async () => {
      const stage = await stageOf();
      const sessionId = newId();
      for (const path of [
        own(sessionId, 'out.png'),
        own(sessionId, 'deep', 'er', 'größe 1.png'),
        join(root, 'uploads', 'sessions', sessionId, 'x'),
      ]) {
        await mkdir(join(path, '..'), { recursive: true });
        await writeFile(path, path);
        await using file = await stage.openOutput(path, sessionId);
        expect(file.path).toBe(path);
        expect((await allOf(file)).toString()).toBe(path);
      }
    });

    test('an upstream that has mounted the folder elsewhere', async () => {
      const stage = await stageOf();
      const sessionId = newId();
      await mkdir(own(sessionId), { recursive: true });
      await writeFile(own(sessionId, 'out.png'), 'tool');
      await using file = await stage.openOutput(`/mnt/volume/artifacts/sessions/${sessionId}/out.png`, sessionId);
      expect(file.path).toBe(own(sessionId, 'out.png'));
      await using relative = await stage.openOutput(`./artifacts/sessions/${sessionId}/out.png`, sessionId);
      expect(relative.path).toBe(own(sessionId, 'out.png'));
    });

    test('the root may be known by a link', async () => {
      await mkdir(root);
      await symlink(root, join(base, 'data'));
      const stage = await stageOf({ root: join(base, 'data') });
      const sessionId = newId();
      await mkdir(own(sessionId), { recursive: true });
      await writeFile(own(sessionId, 'out.png'), 'tool');
      await using file = await stage.openOutput(
        join(base, 'data', 'artifacts', 'sessions', sessionId, 'out.png'),
        sessionId,
      );
      expect(file.path).toBe(own(sessionId, 'out.png'));
      const at = place();
      expect(await stored(stage, at)).toBe(join(root, 'uploads', 'sessions', at.sessionId, at.fileId, 'report.pdf'));
    });

    test('upstreams are told the root as it is configured', async () => {
      await mkdir(root);
      await symlink(root, join(base, 'data'));
      const stage = await stageOf({ root: join(base, 'data') });
      const at = place();
      const told = join(base, 'data', 'uploads', 'sessions', at.sessionId, at.fileId, 'report.pdf');
      expect(await stage.prepare(at)).toBe(told);
      expect(stage.toolPathOf(stage.pathOf(at))).toBe(told);
      await writeFile(told, 'tool');
      await using file = await stage.openOutput(told, at.sessionId);
      expect(file.path).toBe(stage.pathOf(at));
    });

    test.each([
      ['another session', (other: string) => own(other, 'f', 'secret')],
      ['another session by a way up', (other: string, sessionId: string) => `${own(sessionId)}/../${other}/f/secret`],
      ['another session, re-rooted', (other: string) => `/x/artifacts/sessions/${other}/f/secret`],
      [
        'another session, re-rooted by a way up',
        (other: string, id: string) => `/x/artifacts/sessions/${id}/../${other}/f/secret`,
      ],
      ['the state database', () => join(root, 'state', 'adapter_state.sqlite3')],
      ['the state database, re-rooted', () => '/x/artifacts/../state/adapter_state.sqlite3'],
      ['the root itself', () => join(root, 'loose')],
      ['a file of the system', () => '/etc/passwd'],
      ['a relative path', () => 'out.png'],
      ['nothing', () => ''],
      ['a null byte', (_: string, sessionId: string) => `${own(sessionId)}/x\0`],
      ['a path without end', (_: string, sessionId: string) => `${own(sessionId)}/${'x/'.repeat(5000)}`],
      ['the session folder itself', (_: string, sessionId: string) => own(sessionId)],
    ])('refused: %s', async (_, pathOf) => {
      const stage = await stageOf();
      const [sessionId, other] = [newId(), newId()];
      await mkdir(own(sessionId), { recursive: true });
      await mkdir(own(other, 'f'), { recursive: true });
      await writeFile(own(other, 'f', 'secret'), 'secret');
      await mkdir(join(root, 'state'));
      await writeFile(join(root, 'state', 'adapter_state.sqlite3'), 'secret');
      await writeFile(join(root, 'loose'), 'secret');
      expect(await refusal(stage.openOutput(pathOf(other, sessionId), sessionId))).toBe('outside');
    });

    test('what is not there is missing', async () => {
      const stage = await stageOf();
      const sessionId = newId();
      expect(await refusal(stage.openOutput(own(sessionId, 'none.png'), sessionId))).toBe('missing');
      expect(await refusal(stage.openOutput(own(sessionId, 'x'.repeat(300)), sessionId))).toBe('missing');
    });

    test('configured roots count only where the policy allows them, and never open what is ours', async () => {
      const out = join(base, 'out');
      await mkdir(out);
      await writeFile(join(out, 'shot.png'), 'tool');
      await symlink(join(out, 'shot.png'), join(out, 'link.png'));
      await writeFile(join(out, 'state.db'), 'secret');
      await writeFile(join(out, 'state.db-wal'), 'secret');
      const sessionId = newId();
      const strict = await stageOf();
      expect(await refusal(strict.openOutput(join(out, 'shot.png'), sessionId))).toBe('outside');
      const stage = await stageOf({
        locatorRoots: [out, join(base, 'not-there'), base],
        forbidden: [join(out, 'state.db')],
      });
      await using file = await stage.openOutput(join(out, 'shot.png'), sessionId);
      expect((await allOf(file)).toString()).toBe('tool');
      expect(await refusal(stage.openOutput(join(out, 'link.png'), sessionId))).toBe('linked');
      expect(await refusal(stage.openOutput(join(out, '..', 'out', 'state.db'), sessionId))).toBe('outside');
      expect(await refusal(stage.openOutput(join(out, 'state.db-wal'), sessionId))).toBe('outside');
      const other = place({ kind: 'artifact' });
      await stored(stage, other, 'secret');
      expect(await refusal(stage.openOutput(stage.pathOf(other), sessionId))).toBe('outside');
    });

    test('a root of everything does not open windows into the system', async (context) => {
      if (process.platform !== 'linux') context.skip('/proc is of Linux');
      const stage = await stageOf({ locatorRoots: ['/'] });
      for (const path of [
        '/proc/self/environ',
        '/proc/self/root/etc/hostname',
        '/sys/kernel/uevent_seqnum',
        '/dev/null',
      ]) {
        expect(await refusal(stage.openOutput(path, newId()))).toBe('outside');
      }
    });

    testThroughDescriptors(
      'swapping a folder for a link all the time gives nobody the file behind the link',
      async () => {
        const stage = await stageOf();
        const sessionId = newId();
        const outside = join(base, 'outside');
        await mkdir(own(sessionId, 'a'), { recursive: true });
        await mkdir(outside);
        await writeFile(own(sessionId, 'a', 'f'), 'tool');
        await writeFile(join(outside, 'f'), 'secret');
        await symlink(outside, own(sessionId, 'link'));
        // Two renames make each of them "a" in turn.
        const swapping = run(
          `import { renameSync } from 'node:fs'; process.chdir(process.argv[1]);
         console.log('ready'); const until = Date.now() + 300;
         while (Date.now() < until) { renameSync('a', 'b'); renameSync('link', 'a'); renameSync('a', 'link'); renameSync('b', 'a'); }`,
          own(sessionId),
        );
        await once(swapping.stdout, 'data');
        const ended = once(swapping, 'exit');
        const seen = new Map<string, number>();
        while (swapping.exitCode === null) {
          const result = await stage
            .openOutput(own(sessionId, 'a', 'f'), sessionId)
            .then(async (file) => {
              const content = (await allOf(file)).toString();
              await file.close();
              return content;
            })
            .catch((error: unknown) => (error instanceof FileRefused ? error.reason : Promise.reject(error)));
          seen.set(result, (seen.get(result) ?? 0) + 1);
        }
        await ended;
        expect([...seen.keys()]).not.toContain('secret');
        // The swapping was seen: some attempts met the link or nothing.
        expect(seen.get('tool')).toBeGreaterThan(0);
        expect(seen.size).toBeGreaterThan(1);
      },
    );
  });

  describe('removing', () => {
    test('an item with all that a tool put there, and nothing behind links', async () => {
      const stage = await stageOf();
      const [at, other] = [place(), place()];
      const path = await stored(stage, at);
      await stored(stage, other);
      const victim = join(base, 'victim');
      await mkdir(join(victim, 'sub'), { recursive: true });
      await writeFile(join(victim, 'sub', 'f'), 'precious');
      const item = join(path, '..');
      await symlink(victim, join(item, 'link'));
      await link(join(victim, 'sub', 'f'), join(item, 'hard'));
      await make('mkfifo', join(item, 'fifo'));
      await mkdir(join(item, 'sub', 'sub'), { recursive: true });
      await symlink(victim, join(item, 'sub', 'sub', 'link'));
      await writeFile(join(item, 'sub', 'sub', 'f'), 'x');
      await stage.removeItem(at);
      await stage.removeItem(at);
      expect(await readdir(join(root, 'uploads', 'sessions', at.sessionId))).toEqual([]);
      expect(await readFile(join(victim, 'sub', 'f'), 'utf8')).toBe('precious');
      expect(await stage.filesIn(other)).toEqual(['report.pdf']);
    });

    test('an item that is a link itself', async () => {
      const stage = await stageOf();
      const at = place();
      await stored(stage, at);
      const other = place({ sessionId: at.sessionId });
      const victim = await stored(stage, other);
      const folder = join(root, 'uploads', 'sessions', at.sessionId, at.fileId);
      await rm(folder, { recursive: true });
      await symlink(join(victim, '..'), folder);
      await stage.removeItem(at);
      expect(await readdir(join(root, 'uploads', 'sessions', at.sessionId))).toEqual([other.fileId]);
      expect(await stage.filesIn(other)).toEqual(['report.pdf']);
    });

    testThroughDescriptors('folders within folders without end, and names that are no UTF-8', async () => {
      const stage = await stageOf();
      const at = place({ kind: 'artifact' });
      const item = join(await stage.prepare(at), '..');
      // Deeper than any path may be long (4,096 bytes), which only whoever changes into the folders can do.
      await exited(
        run(
          `import { mkdirSync, writeFileSync } from 'node:fs'; process.chdir(process.argv[1]);
           writeFileSync(Buffer.from([0x66, 0xff, 0xfe]), 'x'); mkdirSync(Buffer.from([0xff]));
           for (let i = 0; i < 120; i++) { const name = 'd'.repeat(40); mkdirSync(name); process.chdir(name); writeFileSync('f', 'x'); }`,
          item,
        ),
      );
      const done = new AbortController();
      const removing = stage.removeItem(at).finally(() => done.abort());
      let most = 0;
      while (!done.signal.aborted) {
        most = Math.max(most, openBelow(base).length);
        await delay(2);
      }
      await removing;
      expect(await readdir(join(item, '..'))).toEqual([]);
      // Nobody can use up all descriptors of the process.
      expect(most).toBeLessThan(64);
    });

    test('a session with both of its folders, by several replicas at once', async () => {
      const stages = await Promise.all([stageOf(), stageOf(), stageOf()]);
      const [stage] = stages;
      const sessionId = newId();
      const places = Array.from({ length: 30 }, (_, i) =>
        place({ sessionId, kind: i % 2 === 0 ? 'upload' : 'artifact' }),
      );
      await Promise.all(places.map((at) => stored(stage, at)));
      const kept = place();
      await stored(stage, kept);
      await Promise.all(stages.map((each) => each.removeSession(sessionId)));
      expect(await readdir(join(root, 'uploads', 'sessions'))).toEqual([kept.sessionId]);
      expect(await readdir(join(root, 'artifacts', 'sessions'))).toEqual([]);
      await stage.removeSession(newId());
    });

    test('everything but one file', async () => {
      const stage = await stageOf();
      const at = place({ kind: 'artifact', filename: 'shot.png' });
      const path = await stored(stage, at);
      await mkdir(join(path, '..', 'more'));
      await writeFile(join(path, '..', 'more', 'f'), 'x');
      await writeFile(join(path, '..', 'video.webm'), 'x');
      await stage.keepOnly(at);
      expect(await readdir(join(path, '..'))).toEqual(['shot.png']);
    });

    testThroughDescriptors('an entry that was swapped for a link while its folder was emptied', async () => {
      const stage = await stageOf();
      const victim = join(base, 'victim');
      await mkdir(victim);
      for (let i = 0; i < 50; i++) await writeFile(join(victim, `${i}`), 'precious');
      for (let round = 0; round < 20; round++) {
        const at = place();
        const item = join(await stored(stage, at), '..');
        await mkdir(join(item, 'a'));
        for (let i = 0; i < 20; i++) await writeFile(join(item, 'a', `${i}`), 'x');
        await symlink(victim, join(item, 'b'));
        const removing = stage.removeItem(at);
        for (let i = 0; i < 10; i++) {
          await rename(join(item, 'a'), join(item, 'c')).catch(() => undefined);
          await rename(join(item, 'b'), join(item, 'a')).catch(() => undefined);
          await rename(join(item, 'c'), join(item, 'b')).catch(() => undefined);
        }
        await removing;
        await stage.removeItem(at);
      }
      expect(await readdir(victim)).toHaveLength(50);
    });
  });

  describe('looking through the folders', () => {
    test('items, strays and empty folders are told apart, with their age', async () => {
      const stage = await stageOf();
      const sessions = join(root, 'uploads', 'sessions');
      const at = place();
      const path = await stored(stage, at);
      const temporary = `.report.pdf.${'0'.repeat(16)}.tmp`;
      await writeFile(join(path, '..', temporary), 'half');
      const old = new Date(Date.now() - 3_600_000);
      await utimes(join(path, '..', temporary), old, old);
      await utimes(path, old, old);
      await utimes(join(path, '..'), old, old);
      const [emptySession, emptyItem] = [newId(), newId()];
      await mkdir(join(sessions, emptySession));
      await mkdir(join(sessions, at.sessionId, emptyItem));
      await writeFile(join(sessions, 'loose'), 'x');
      await symlink('/etc', join(sessions, 'link'));
      await mkdir(join(sessions, 'Odd', 'folder'), { recursive: true });
      await writeFile(join(sessions, at.sessionId, 'loose'), 'x');
      const found = await items(stage, 'upload');
      expect(
        new Map(found.map((item) => [`${item.sessionId} ${item.entry}`, [item.fileId, item.temporary.length]])),
      ).toEqual(
        new Map([
          [`${at.sessionId} ${at.fileId}`, [at.fileId, 1]],
          [`${at.sessionId} ${emptyItem}`, [emptyItem, 0]],
          [`${at.sessionId} loose`, [null, 0]],
          [`${emptySession} null`, [null, 0]],
          ['loose null', [null, 0]],
          ['link null', [null, 0]],
          ['Odd folder', [null, 0]],
        ]),
      );
      const item = found.find(({ entry }) => entry === at.fileId);
      expect(Math.abs((item?.modifiedAt ?? 0) - old.getTime())).toBeLessThan(2);
      await utimes(join(path, '..', temporary), new Date(), new Date());
      const again = (await items(stage, 'upload')).find(({ entry }) => entry === at.fileId);
      expect(Math.abs((again?.modifiedAt ?? 0) - Date.now())).toBeLessThan(60_000);
      expect(await items(stage, 'artifact')).toEqual([]);
    });

    testThroughDescriptors('every stray can be removed, but no folder into which something came', async () => {
      const stage = await stageOf();
      const sessions = join(root, 'artifacts', 'sessions');
      await mkdir(join(sessions, 'Odd', 'folder', 'sub'), { recursive: true });
      await mkdir(join(sessions, newId()));
      const filled = newId();
      await mkdir(join(sessions, filled));
      await writeFile(join(sessions, 'loose'), 'x');
      await symlink(base, join(sessions, 'link'));
      await writeFile(join(sessions, 'Odd', 'loose'), 'x');
      await writeFile(Buffer.concat([Buffer.from(`${sessions}/`), Buffer.from([0xff, 0xfe])]), 'x');
      const found = await items(stage, 'artifact');
      expect(found).toHaveLength(7);
      const at = place({ kind: 'artifact', sessionId: filled });
      await stored(stage, at);
      for (const item of found) await stage.removeStray(item);
      for (const item of found) await stage.removeStray(item);
      expect((await readdir(sessions)).sort()).toEqual(['Odd', filled].sort());
      for (const item of await items(stage, 'artifact')) if (item.fileId === null) await stage.removeStray(item);
      expect(await readdir(sessions)).toEqual([filled]);
      expect(await stage.filesIn(at)).toEqual(['report.pdf']);
      expect((await stat(base)).isDirectory()).toBe(true);
    });

    test('old temporary files of an item go, fresh ones and the file stay', async () => {
      const stage = await stageOf();
      const at = place();
      const folder = join(await stored(stage, at), '..');
      const [old, fresh] = [`.a.${'0'.repeat(16)}.tmp`, `.a.${'1'.repeat(16)}.tmp`];
      await writeFile(join(folder, old), 'x');
      await writeFile(join(folder, fresh), 'x');
      const hourAgo = new Date(Date.now() - 3_600_000);
      await utimes(join(folder, old), hourAgo, hourAgo);
      const [item] = await items(stage, 'upload');
      expect(item?.temporary.toSorted()).toEqual([old, fresh]);
      if (item === undefined) return;
      expect(await stage.removeEntries(item, item.temporary, Date.now() - 60_000)).toBe(1);
      expect((await readdir(folder)).sort()).toEqual([fresh, 'report.pdf']);
    });

    test('a stop signal ends it', async () => {
      const stage = await stageOf();
      await stored(stage, place());
      await stored(stage, place());
      const stop = new AbortController();
      const found: unknown[] = [];
      const looking = (async () => {
        for await (const item of stage.items('upload', stop.signal)) {
          found.push(item);
          stop.abort(new Error('stopped'));
        }
      })();
      await expect(looking).rejects.toThrow('stopped');
      expect(found).toHaveLength(1);
    });

    test('the files in an item, newest first, without folders, links and temporary files', async () => {
      const stage = await stageOf();
      const at = place({ kind: 'artifact' });
      const folder = join(await stage.prepare(at), '..');
      for (const [name, age] of [
        ['old.png', 3],
        ['newest.png', 1],
        ['größe.png', 2],
      ] as const) {
        await writeFile(join(folder, name), 'x');
        const then = new Date(Date.now() - age * 60_000);
        await utimes(join(folder, name), then, then);
      }
      await mkdir(join(folder, 'sub'));
      await symlink('/etc/passwd', join(folder, 'link.png'));
      await writeFile(join(folder, `.x.${'0'.repeat(16)}.tmp`), 'x');
      expect(await stage.filesIn(at)).toEqual(['newest.png', 'größe.png', 'old.png']);
      expect(await stage.filesIn(place())).toEqual([]);
    });

    test('a file gets another name, but no other file loses its own', async () => {
      const stage = await stageOf();
      const at = place({ kind: 'artifact', filename: 'shot' });
      const path = await stored(stage, at);
      await stage.rename(at, 'shot.png');
      expect(await readdir(join(path, '..'))).toEqual(['shot.png']);
      await writeFile(join(path, '..', 'other.png'), 'x');
      expect(await refusal(stage.rename({ ...at, filename: 'shot.png' }, 'other.png'))).toBe('changed');
      expect(await refusal(stage.rename({ ...at, filename: 'none.png' }, 'new.png'))).toBe('missing');
    });
  });

  describe('a disk that fails', () => {
    test('a full disk is told apart, and the rest of the file is removed', async (context) => {
      const small = join(base, 'small');
      await mkdir(small);
      if ((await ran('mount', '-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', small)) !== 0) {
        context.skip('mounting a small disk needs root');
      }
      try {
        const stage = await stageOf({ root: small });
        const at = place();
        const writer = await stage.create(at);
        const writing = (async () => {
          for (let i = 0; i < 100; i++) await writer.write(Buffer.alloc(16_384));
        })();
        await expect(writing).rejects.toMatchObject({ name: 'StorageFault', code: 'ENOSPC' });
        await writer.abort();
        expect(await readdir(join(small, 'uploads', 'sessions', at.sessionId))).toEqual([]);
        expect(await stored(stage, place())).toContain(small);
      } finally {
        await ran('umount', small);
      }
    });

    test('a root that is no folder says so at once', async () => {
      await writeFile(root, 'x');
      await expect(stageOf()).rejects.toThrow(root);
    });
  });
});

test('a large file is read and written with little memory', async () => {
  const stage = await opened();
  const [from, to] = [place(), place()];
  const chunk = randomBytes(1024 * 1024);
  const writer = await stage.create(from);
  for (let i = 0; i < 128; i++) await writer.write(chunk);
  await writer.finish();
  const before = process.memoryUsage().rss;
  let most = 0;
  await using file = await stage.open(from);
  const copy = await stage.create(to);
  let bytes = 0;
  for await (const part of file.read()) {
    bytes += part.length;
    await copy.write(part);
    most = Math.max(most, process.memoryUsage().rss);
  }
  await copy.finish();
  expect(bytes).toBe(128 * chunk.length);
  // Garbage included, which Node lets grow to about half of that.
  expect(most - before).toBeLessThan(96 * 1024 * 1024);
});

async function items(stage: DiskStagingArea, kind: FileKey['kind']): Promise<StagedItem[]> {
  const found: StagedItem[] = [];
  for await (const item of stage.items(kind, new AbortController().signal)) found.push(item);
  return found;
}

const tree = async (folder: string): Promise<string[]> => (await readdir(folder, { recursive: true })).sort();

async function make(command: string, ...args: string[]): Promise<void> {
  expect(await ran(command, ...args)).toBe(0);
}

const ran = (command: string, ...args: string[]): Promise<number | null> => exited(spawn(command, args));

const run = (script: string, ...args: string[]) =>
  spawn(process.execPath, ['--input-type=module', '-e', script, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });

async function exited(child: ChildProcess): Promise<number | null> {
  const [code] = (await once(child, 'exit')) as [number | null];
  return code;
}

test('nobody waits for a disk that is not known to be of this machine', async () => {
  expect(await diskCalls('/proc')).toBe(patient);
});
