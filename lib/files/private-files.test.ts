import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, lstatSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, type TestContext } from 'vitest';
import { NotPrivate, privateDatabase, privateFolder, tightenDatabase } from './private-files.ts';

const NOBODY = 65_534;

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'private-'));
  chmodSync(root, 0o755);
});
afterEach(() => {
  spawnSync('umount', [join(root, 'state')], { stdio: 'ignore' });
  rmSync(root, { recursive: true });
});

const modeOf = (path: string): string => (lstatSync(path).mode & 0o7777).toString(8);

function needsRoot({ skip }: TestContext): void {
  if (process.geteuid?.() !== 0) skip('only root can give files to other users');
}

describe('T7: the folder of the state', () => {
  test('is made for its owner only, those above it for everybody', () => {
    privateFolder(join(root, 'shared/state'));
    expect(modeOf(join(root, 'shared/state'))).toBe('700');
    expect(modeOf(join(root, 'shared'))).toBe('755');
  });

  test('is tightened where it is open', () => {
    mkdirSync(join(root, 'state'));
    chmodSync(join(root, 'state'), 0o775);
    privateFolder(join(root, 'state'));
    expect(modeOf(join(root, 'state'))).toBe('700');
  });

  test('cannot be renamed by those who may write above it', () => {
    chmodSync(root, 0o2775);
    privateFolder(join(root, 'state'));
    expect(modeOf(root)).toBe('3775');
  });

  test('of another user is refused, with what to do', (context) => {
    needsRoot(context);
    mkdirSync(join(root, 'state'));
    chownSync(join(root, 'state'), NOBODY, NOBODY);
    expect(() => privateFolder(join(root, 'state'))).toThrow(
      new NotPrivate(
        `the folder ${root}/state is owned by user ${NOBODY}, who can read or replace it, and this program runs as user 0. ` +
          `If user ${NOBODY} was this program under another id, run: chown -R 0 ${root}/state; if not, remove it`,
      ),
    );
  });

  test.for([
    { mode: 0o775, refused: true },
    { mode: 0o757, refused: true },
    { mode: 0o1777, refused: false },
    { mode: 0o755, refused: false },
  ])('below a folder $mode of somebody else: refused $refused, and so is a file of the state', (asked, context) => {
    needsRoot(context);
    const { mode, refused } = asked;
    for (const make of ['privateFolder', 'privateDatabase']) {
      const path = join(root, make);
      // What cannot be changed: the program runs as another user than the folder's owner.
      const child = asNobody(`${make}(process.argv[1] + '/${make}')`, () => {
        if (make === 'privateFolder') mkdirSync(path);
        else writeFileSync(path, '');
        chownSync(path, NOBODY, NOBODY);
        chmodSync(root, mode);
      });
      expect(child.stderr.includes(`lets others replace ${path}. Run: chmod +t ${root}; or mount`)).toBe(refused);
      expect(child.status === 0).toBe(!refused);
      expect(modeOf(root)).toBe(mode.toString(8));
    }
  });

  test('is refused where it is a link to a folder that others can replace', (context) => {
    needsRoot(context);
    const open = join(root, 'open');
    const child = asNobody(`privateFolder(process.argv[1] + '/state')`, () => {
      mkdirSync(join(open, 'real'), { recursive: true });
      symlinkSync(join(open, 'real'), join(root, 'state'));
      chownSync(join(open, 'real'), NOBODY, NOBODY);
      chmodSync(open, 0o777);
    });
    expect(child.stderr).toContain(`lets others replace ${open}/real`);
  });

  test('is refused where others can read it and that cannot be changed', (context) => {
    needsRoot(context);
    const state = join(root, 'state');
    mkdirSync(state);
    const mount = (...options: string[]): number | null => spawnSync('mount', [...options, state]).status;
    if (mount('-t', 'tmpfs', '-o', 'size=1m,mode=755', 'tmpfs') !== 0) context.skip('nothing can be mounted here');
    mkdirSync(join(state, 'own'), { mode: 0o755 });
    expect(mount('-o', 'remount,ro')).toBe(0);
    expect(() => privateFolder(join(state, 'own'))).toThrow(
      `the folder ${state}/own can be read by others (mode 0755), and its file system does not let that be changed`,
    );
  });

  test('that is a mount of its own may let a group write, as volumes do', (context) => {
    needsRoot(context);
    mkdirSync(join(root, 'state'));
    const options = `size=1m,mode=2775,uid=0,gid=${NOBODY}`;
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', join(root, 'state')]);
    if (mounted.status !== 0) context.skip('nothing can be mounted here');
    const child = asNobody(
      `privateFolder(process.argv[1] + '/state'); privateDatabase(process.argv[1] + '/state/a.db')`,
      () => chmodSync(root, 0o775),
    );
    expect(child).toMatchObject({ status: 0, stderr: '' });
    expect(modeOf(join(root, 'state/a.db'))).toBe('600');
  });

  test('a link that somebody else has put there is not followed', (context) => {
    needsRoot(context);
    mkdirSync(join(root, 'elsewhere'), { mode: 0o700 });
    chownSync(join(root, 'elsewhere'), NOBODY, NOBODY);
    symlinkSync(join(root, 'elsewhere'), join(root, 'state'));
    expect(() => privateFolder(join(root, 'state'))).toThrow(NotPrivate);
  });
});

describe('T7: the file of the state', () => {
  test('is made for its owner only, whatever the umask, and so is what SQLite has put beside it', () => {
    const file = join(root, 'a.db');
    for (const suffix of ['-wal', '-shm', '-journal']) writeFileSync(`${file}${suffix}`, '', { mode: 0o644 });
    privateDatabase(file);
    for (const suffix of ['', '-wal', '-shm', '-journal']) expect(modeOf(`${file}${suffix}`)).toBe('600');
  });

  test('is tightened where it is open, and its folder left as it is', () => {
    const file = join(root, 'a.db');
    writeFileSync(file, '');
    chmodSync(file, 0o664);
    privateDatabase(file);
    expect(modeOf(file)).toBe('600');
    expect(modeOf(root)).toBe('755');
  });

  test.for(['', '-wal', '-journal'])('of another user is refused: a.db%s', (suffix, context) => {
    needsRoot(context);
    const file = join(root, `a.db${suffix}`);
    writeFileSync(file, '');
    chownSync(file, NOBODY, NOBODY);
    expect(() => privateDatabase(join(root, 'a.db'))).toThrow(`the file ${file} is owned by user ${NOBODY}`);
  });

  test('a link of another user is refused, also where it leads to a file of ours', (context) => {
    needsRoot(context);
    writeFileSync(join(root, 'ours'), '');
    symlinkSync(join(root, 'ours'), join(root, 'a.db'));
    spawnSync('chown', ['-h', String(NOBODY), join(root, 'a.db')]);
    expect(() => privateDatabase(join(root, 'a.db'))).toThrow(`the link ${root}/a.db is owned by user ${NOBODY}`);
  });

  test('where nothing is refused, it is tightened all the same', (context) => {
    needsRoot(context);
    const file = join(root, 'made/a.db');
    tightenDatabase(file);
    expect([modeOf(join(root, 'made')), modeOf(file)]).toEqual(['700', '600']);
    chownSync(file, NOBODY, NOBODY);
    chmodSync(file, 0o666);
    tightenDatabase(file);
    expect(modeOf(file)).toBe('600');
  });
});

/** Runs code with what is tested here as another user, which only root can. */
function asNobody(code: string, prepare: () => void) {
  prepare();
  const module = join(import.meta.dirname, 'private-files.ts');
  const script = `import { privateDatabase, privateFolder } from '${module}'; privateDatabase; ${code}`;
  return spawnSync(process.execPath, ['--input-type=module-typescript', '-e', script, root], {
    uid: NOBODY,
    gid: NOBODY,
    encoding: 'utf8',
    env: {},
  });
}
