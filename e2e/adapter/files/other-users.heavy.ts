import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, lstat, mkdir, mkdtemp, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type RunningAdapter, runAdapter, startAdapter } from '../../support/adapter-process.ts';
import { type FileTools, startFileTools } from '../../support/file-tools.ts';
import { openSession, type Session, textOf } from '../kit/session.ts';
import { lying } from './kit/folder.ts';
import { fileConfig } from './kit/settings.ts';
import { uploadedOne } from './kit/uploads.ts';

const MAIN = join(import.meta.dirname, '../../../adapter/main.ts');
/** Somebody else on this machine. */
const NOBODY = 65_534;

/** Tries what follows with the arguments: each answer is `done`, or the code of the error. */
const ATTEMPTS = `
  const fs = require('node:fs');
  const [root, file] = process.argv.slice(1);
  const db = root + '/state/adapter_state.sqlite3';
  const attempts = {
    'list the state': () => fs.readdirSync(root + '/state'),
    'read the state': () => fs.readFileSync(db),
    'read what is not yet in it': () => fs.readFileSync(db + '-wal'),
    'write the state': () => fs.appendFileSync(db, 'x'),
    'take a lock': () => fs.openSync(root + '/state/locks/0.lock', 'r+'),
    'move the state away': () => fs.renameSync(root + '/state', root + '/state-of-old'),
    'remove the state': () => fs.rmSync(root + '/state', { recursive: true }),
    'put another in its place': () => { fs.mkdirSync(root + '/mine'); fs.renameSync(root + '/mine', root + '/state'); },
    'read a file of a session': () => fs.readFileSync(file),
    'list the files of a session': () => fs.readdirSync(require('node:path').dirname(file)),
  };
  const said = Object.entries(attempts).map(([name, attempt]) => {
    try { attempt(); return [name, 'done']; } catch (error) { return [name, error.code]; }
  });
  console.log(JSON.stringify(Object.fromEntries(said)));`;

describe('T7: another user of the machine', () => {
  let tools: FileTools;
  let root = '';
  beforeAll(async () => {
    tools = await startFileTools();
  });
  afterAll(() => tools?.stop());
  beforeEach(async (context) => {
    if (process.geteuid?.() !== 0) context.skip('only root can become another user');
    root = await mkdtemp(join(tmpdir(), 'other-users-'));
  });
  afterEach(() => root && rm(root, { recursive: true, force: true }));

  const config = (changes = {}) => fileConfig(root, tools.url, { state_persistence: { type: 'disk' }, ...changes });

  async function withUpload(work: (scene: Scene) => Promise<void>): Promise<void> {
    await using adapter = await startAdapter({ config: config() });
    const session = await openSession(adapter);
    const { id } = await uploadedOne(adapter, session.sessionId, 'report.txt');
    const [found] = await lying(root);
    await work({ adapter, session, id, path: join(root, found?.path ?? '') });
  }

  /** As a user in these groups, what can be done. */
  function attempts(gid: number, path: string): Record<string, string> {
    const child = spawnSync(process.execPath, ['-e', ATTEMPTS, root, path], {
      uid: NOBODY,
      gid,
      env: {},
      encoding: 'utf8',
    });
    expect(child.stderr).toBe('');
    return JSON.parse(child.stdout) as Record<string, string>;
  }

  test('T1: reads neither the state nor files of sessions, and cannot replace the state', async () => {
    await chmod(root, 0o755);
    await withUpload(async ({ path }) => {
      const said = attempts(NOBODY, path);
      expect(new Set(Object.values(said))).toEqual(new Set(['EACCES']));
      const modes = ['state', 'state/adapter_state.sqlite3', 'state/adapter_state.sqlite3-wal', 'state/locks'];
      const found = await Promise.all(
        modes.map(async (one) => ((await lstat(join(root, one))).mode & 0o777).toString(8)),
      );
      expect(found).toEqual(['700', '600', '600', '700']);
    });
  });

  test('who shares the folder with the servers’ group sees files, as configured, and still nothing of the state', async () => {
    // As volumes of Kubernetes are: the group may write, and anybody in it may move what lies there.
    await chmod(root, 0o2775);
    await withUpload(async ({ adapter, session, path }) => {
      const said = attempts(0, path);
      expect(said).toMatchObject({ 'read a file of a session': 'done', 'list the files of a session': 'done' });
      const { 'read a file of a session': _file, 'list the files of a session': _list, ...ofState } = said;
      for (const [attempt, code] of Object.entries(ofState)) expect([attempt, code]).not.toEqual([attempt, 'done']);
      expect((await session.at(adapter).send('{"jsonrpc":"2.0","id":9,"method":"ping"}')).status).toBe(200);
      expect((await stat(join(root, 'state'))).uid).toBe(0);
    });
  });

  test('who changes a file of another session is found out when it is used', async () => {
    await withUpload(async ({ adapter, session, id, path }) => {
      const handle = `upload://sessions/${session.sessionId}/${id}`;
      const use = async (): Promise<string> => textOf(await session.at(adapter).tool('read_file', { path: handle }));
      expect(await use()).not.toContain('was changed');
      // The same size, another file in its place, and the old times.
      const { size, atime, mtime } = await stat(path);
      await chmod(root, 0o755);
      const script = `
        const fs = require('node:fs');
        const [path, size, atime, mtime] = process.argv.slice(1);
        fs.writeFileSync(path + '.new', Buffer.alloc(Number(size), 'x'));
        fs.utimesSync(path + '.new', new Date(atime), new Date(mtime));
        fs.renameSync(path + '.new', path);`;
      const given = [path, String(size), atime.toISOString(), mtime.toISOString()];
      const child = spawnSync(process.execPath, ['-e', script, ...given], {
        uid: NOBODY,
        gid: 0,
        env: {},
        encoding: 'utf8',
      });
      expect(child.stderr).toBe('');
      expect(await use()).toBe(
        `The file of the upload handle "${handle}" was changed after its upload, so it is not used. Call \`up_get_upload_url\` ` +
          'and upload the file again as it says. Then call this tool again with the new handle.',
      );
      expect(adapter.logs().map(({ msg }) => msg)).toContain('a stored file was changed and is not given out');
    });
  });

  test('who has put a state there before keeps the adapter from starting, which says what to do', async () => {
    await chmod(root, 0o777);
    const planted = spawnSync('mkdir', [join(root, 'state')], { uid: NOBODY, gid: NOBODY });
    expect(planted.status).toBe(0);
    const ended = await runAdapter({ config: config() });
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain(`cannot start: the folder ${root}/state is owned by user ${NOBODY}`);
    expect(ended.stderr).toContain(`run: chown -R 0 ${root}/state; if not, remove it`);
  });

  test('the adapter starts as a user of a volume that belongs to root and lets its group write, as in pods', async ({
    skip,
  }) => {
    const state = join(root, 'state');
    const volume = `size=32m,mode=2775,uid=0,gid=${NOBODY}`;
    const mounts = [
      ['-t', 'tmpfs', '-o', volume, 'tmpfs', root],
      ['--bind', state, state],
    ];
    try {
      for (const mount of mounts) {
        if (spawnSync('mount', mount).status !== 0) skip('nothing can be mounted here');
        // As the kubelet makes the folder of a subPath.
        await mkdir(state, { recursive: true });
        await chmod(state, 0o2775);
      }
      const folder = await mkdtemp(join(tmpdir(), 'config-'));
      await chmod(folder, 0o755);
      await writeFile(join(folder, 'config.yaml'), JSON.stringify(config()));
      const args = [MAIN, '--config', join(folder, 'config.yaml'), '--host', '127.0.0.1', '--port', '0'];
      const child = spawn(process.execPath, args, {
        uid: NOBODY,
        gid: NOBODY,
        env: {},
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const exited = once(child, 'exit');
      const output: string[] = [];
      child.stderr.on('data', (text: Buffer) => output.push(text.toString()));
      for await (const text of child.stdout) {
        output.push(String(text));
        if (output.join('').includes('"msg":"listening"')) break;
      }
      expect(output.join('')).toContain('"msg":"listening"');
      const modes = ['adapter_state.sqlite3', 'adapter_state.sqlite3-wal', 'locks'].map(async (name) =>
        ((await stat(join(state, name))).mode & 0o777).toString(8),
      );
      expect(await Promise.all(modes)).toEqual(['600', '600', '700']);
      child.kill('SIGKILL');
      await exited;
      await rm(folder, { recursive: true });
    } finally {
      spawnSync('umount', [state]);
      spawnSync('umount', [root]);
    }
  });

  test('who replaces the state while the adapter runs gives it nothing to read', async () => {
    await withUpload(async ({ adapter, session }) => {
      await rename(join(root, 'state'), join(root, 'away'));
      spawnSync('mkdir', [join(root, 'state')]);
      await writeFile(join(root, 'state/adapter_state.sqlite3'), '');
      spawnSync('chown', ['-R', String(NOBODY), join(root, 'state')]);
      await expect.poll(async () => (await fetch(`${adapter.url}/readyz`)).status, { timeout: 20_000 }).toBe(503);
      expect((await session.at(adapter).send('{"jsonrpc":"2.0","id":9,"method":"ping"}')).status).toBe(503);
      expect((await stat(join(root, 'state/adapter_state.sqlite3'))).size).toBe(0);
    });
  }, 40_000);
});

interface Scene {
  readonly adapter: RunningAdapter;
  readonly session: Session;
  /** Of the upload. */
  readonly id: string;
  /** Where it lies. */
  readonly path: string;
}
