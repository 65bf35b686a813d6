import {
  close,
  closeSync,
  type Dirent,
  fchmod,
  fchmodSync,
  fstat,
  fstatSync,
  lstatSync,
  mkdirSync,
  open,
  opendirSync,
  openSync,
  read,
  readSync,
  renameSync,
  rmdirSync,
  type Stats,
  unlinkSync,
  write,
  writeSync,
} from 'node:fs';
import { lstat, mkdir, opendir, rename, rmdir, statfs, unlink } from 'node:fs/promises';
import { promisify } from 'node:util';

type Path = string | Buffer;

/** Steps on the disk that need no more than what the system has in memory, where the disk is one of this machine. */
export interface DiskCalls {
  open(path: Path, flags: number, mode?: number): Promise<number>;
  close(fd: number): Promise<void>;
  stat(fd: number): Promise<Stats>;
  chmod(fd: number, mode: number): Promise<void>;
  lstat(path: Path): Promise<Stats>;
  rename(path: Path, to: Path): Promise<void>;
  mkdir(path: Path, mode: number): Promise<void>;
  /** Of what is no folder. */
  unlink(path: Path): Promise<void>;
  rmdir(path: Path): Promise<void>;
  /** How many bytes came. */
  read(fd: number, buffer: Buffer, position: number): Promise<number>;
  /** How many bytes were written. */
  write(fd: number, bytes: Uint8Array, position: number): Promise<number>;
  /** Names are bytes (latin1). */
  entries(path: string): AsyncIterable<Dirent>;
}

/** More bytes than this are read, written or removed in the thread pool on any disk: large files, chunk by chunk, too. */
const FEW_BYTES = 32 * 1024;

const inPool = { read: promisify(read), write: promisify(write) };

const LISTING = { encoding: 'latin1', bufferSize: 128 } as const;

/** In the thread pool, where any disk may take its time: one that is elsewhere, or that does not answer. */
export const patient: DiskCalls = {
  open: promisify(open),
  close: promisify(close),
  stat: promisify(fstat),
  chmod: promisify(fchmod),
  lstat: (path) => lstat(path),
  rename: (path, to) => rename(path, to),
  async mkdir(path, mode) {
    await mkdir(path, mode);
  },
  unlink: (path) => unlink(path),
  rmdir: (path) => rmdir(path),
  read: async (fd, buffer, position) => (await inPool.read(fd, buffer, 0, buffer.length, position)).bytesRead,
  write: async (fd, bytes, position) => (await inPool.write(fd, bytes, 0, bytes.length, position)).bytesWritten,
  async *entries(path) {
    yield* await opendir(path, LISTING);
  },
};

/**
 * At once, for a disk of this machine: such a step takes some microseconds there, and a way to the thread pool and back
 * ten times as long. For a few steps of a request; whoever goes through many files would keep everybody waiting.
 */
export const immediate: DiskCalls = {
  open: async (path, flags, mode) => openSync(path, flags, mode),
  close: async (fd) => closeSync(fd),
  stat: async (fd) => fstatSync(fd),
  chmod: async (fd, mode) => fchmodSync(fd, mode),
  lstat: async (path) => lstatSync(path),
  rename: async (path, to) => renameSync(path, to),
  async mkdir(path, mode) {
    mkdirSync(path, mode);
  },
  async unlink(path) {
    if (lstatSync(path).size > FEW_BYTES) await patient.unlink(path);
    else unlinkSync(path);
  },
  rmdir: async (path) => rmdirSync(path),
  read: async (fd, buffer, position) =>
    buffer.length > FEW_BYTES ? patient.read(fd, buffer, position) : readSync(fd, buffer, 0, buffer.length, position),
  write: async (fd, bytes, position) =>
    bytes.length > FEW_BYTES ? patient.write(fd, bytes, position) : writeSync(fd, bytes, 0, bytes.length, position),
  async *entries(path) {
    const folder = opendirSync(path, LISTING);
    try {
      for (let entry = folder.readSync(); entry !== null; entry = folder.readSync()) yield entry;
    } finally {
      folder.closeSync();
    }
  },
};

/** Those steps by which something is removed, at once as long as they are few. */
export function fewCalls(calls: DiskCalls, steps = 32): DiskCalls {
  let left = steps;
  const next = (): DiskCalls => (left-- > 0 ? calls : patient);
  return { ...calls, unlink: (path) => next().unlink(path), rmdir: (path) => next().rmdir(path) };
}

/** ext2 to ext4, XFS, tmpfs and overlays of containers, as Linux numbers them (statfs(2)). */
const LOCAL = new Set([0xef53, 0x58465342, 0x01021994, 0x794c7630]);

/** The calls for the disk that a folder lies on; patient ones when it is not known to be of this machine. */
export async function diskCalls(folder: string): Promise<DiskCalls> {
  if (process.platform !== 'linux') return patient;
  const { type } = await statfs(folder);
  return LOCAL.has(type) ? immediate : patient;
}
