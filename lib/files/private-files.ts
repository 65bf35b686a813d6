import {
  chmodSync,
  closeSync,
  constants,
  lstatSync,
  mkdirSync,
  openSync,
  realpathSync,
  type Stats,
  statSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import { isMountPoint, ownMounts } from './mount-points.ts';

/** Files that only this program may read: somebody else could read or replace them, and that could not be mended. */
export class NotPrivate extends Error {
  override readonly name = 'NotPrivate';
}

/** What SQLite puts beside a database file. */
const BESIDE_DATABASE = ['', '-wal', '-shm', '-journal'];
const OTHERS = 0o077;
const OTHERS_WRITE = 0o022;
const STICKY = 0o1000;

/**
 * Makes the folder of a program's own files, or tightens the one that is there to 0700. Throws NotPrivate where others
 * could read or replace what lies in it:
 *
 * - it belongs to another user, or its file system does not let its mode be changed;
 * - the folder above lets others rename it. One that is ours gets the sticky bit, with which only owners rename.
 *
 * A mount of its own is private to those whom it was mounted for: volumes of Kubernetes belong to root, let a group
 * (`fsGroup`) write, and cannot be changed from inside. What can be tightened there is; the rest is accepted.
 */
export function privateFolder(path: string): void {
  makeFolder(path);
  const real = realpathSync(path);
  if (isMountPoint(ownMounts(), real)) return void changeMode(real, 0o700);
  checkPlace(resolve(path));
  if (real !== resolve(path)) checkPlace(real);
  tighten(real, 'folder', 0o700);
}

/**
 * Makes a database file that only this user can read, or tightens the one that is there, with what SQLite has put beside
 * it, to 0600. Its folder must be one in which nobody else can replace it; it is made where it is missing, and else left
 * as it is, since it may hold other things. Throws NotPrivate as `privateFolder`.
 */
export function privateDatabase(path: string): void {
  const folder = dirname(resolve(path));
  makeFolder(folder);
  if (isMountPoint(ownMounts(), realpathSync(folder))) return tightenDatabase(path);
  checkPlace(resolve(path));
  makeFile(path);
  for (const suffix of BESIDE_DATABASE) checkFile(`${path}${suffix}`);
}

/** The same where nothing is refused: what cannot be tightened stays as it is. */
export function tightenDatabase(path: string): void {
  makeFolder(dirname(resolve(path)));
  makeFile(path);
  for (const suffix of BESIDE_DATABASE) changeMode(`${path}${suffix}`, 0o600);
}

/** Those above it are not only ours. */
function makeFolder(path: string): void {
  mkdirSync(dirname(resolve(path)), { recursive: true });
  mkdirSync(path, { recursive: true, mode: 0o700 });
}

/** Fails where others could put another file or folder in the place of this one, which need not be there yet. */
function checkPlace(path: string): void {
  const folder = realpathSync(dirname(path));
  const { uid, mode } = statSync(folder);
  if ((mode & OTHERS_WRITE) === 0 || (mode & STICKY) !== 0) return;
  if (uid === ownUser() && changeMode(folder, (mode & 0o7777) | STICKY)) return;
  if (ownUser() === undefined) return;
  throw new NotPrivate(
    `the folder ${folder} (mode ${octal(mode)}, owned by user ${uid}) lets others replace ${path}. ` +
      `Run: chmod +t ${folder}; or mount a volume of its own, or a subPath of one, at ${path}`,
  );
}

function checkFile(path: string): void {
  const link = lstatSync(path, { throwIfNoEntry: false });
  // A link of somebody else would lead to a file of their choice.
  if (link?.isSymbolicLink() === true) checkOwner(path, 'link', link);
  tighten(path, 'file', 0o600);
}

/** With its mode from the start. Why it cannot be made is for SQLite to say, which opens it next. */
function makeFile(path: string): void {
  try {
    const { O_CREAT, O_EXCL, O_RDWR, O_NOFOLLOW } = constants;
    closeSync(openSync(path, O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW, 0o600));
  } catch {
    // It may be there already, too.
  }
}

function tighten(path: string, what: 'folder' | 'file', mode: number): void {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return;
  checkOwner(path, what, stats);
  if ((stats.mode & OTHERS) === 0 || changeMode(path, mode) || ownUser() === undefined) return;
  throw new NotPrivate(
    `the ${what} ${path} can be read by others (mode ${octal(stats.mode)}), and its file system does not let that be ` +
      `changed. Run: chmod ${octal(mode)} ${path}; or keep it on another file system`,
  );
}

function checkOwner(path: string, what: string, { uid }: Stats): void {
  const own = ownUser();
  if (own === undefined || uid === own) return;
  throw new NotPrivate(
    `the ${what} ${path} is owned by user ${uid}, who can read or replace it, and this program runs as user ${own}. ` +
      `If user ${uid} was this program under another id, run: chown -R ${own} ${path}; if not, remove it`,
  );
}

/** Whether others have no right any more that `mode` does not give. */
function changeMode(path: string, mode: number): boolean {
  try {
    chmodSync(path, mode);
    return (statSync(path).mode & 0o7777 & ~mode & ~0o6000) === 0;
  } catch {
    return false;
  }
}

/** Undefined on systems whose users have no numbers. */
const ownUser = (): number | undefined => process.geteuid?.();

const octal = (mode: number): string => `0${(mode & 0o7777).toString(8)}`;
