import {
  close,
  closeSync,
  type Dirent,
  fchmod,
  fchmodSync,
  fstat,
  fstatSync,
  lstatSync,
  open,
  opendirSync,
  openSync,
  renameSync,
  type Stats,
} from 'node:fs';
import { lstat, opendir, rename, statfs } from 'node:fs/promises';
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
  /** Names are bytes (latin1). */
  entries(path: string): AsyncIterable<Dirent>;
}

const LISTING = { encoding: 'latin1', bufferSize: 128 } as const;

/** In the thread pool, where any disk may take its time: one that is elsewhere, or that does not answer. */
export const patient: DiskCalls = {
  open: promisify(open),
  close: promisify(close),
  stat: promisify(fstat),
  chmod: promisify(fchmod),
  lstat: (path) => lstat(path),
  rename: (path, to) => rename(path, to),
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
  async *entries(path) {
    const folder = opendirSync(path, LISTING);
    try {
      for (let entry = folder.readSync(); entry !== null; entry = folder.readSync()) yield entry;
    } finally {
      folder.closeSync();
    }
  },
};

/** ext2 to ext4, XFS, tmpfs and overlays of containers, as Linux numbers them (statfs(2)). */
const LOCAL = new Set([0xef53, 0x58465342, 0x01021994, 0x794c7630]);

/** The calls for the disk that a folder lies on; patient ones when it is not known to be of this machine. */
export async function diskCalls(folder: string): Promise<DiskCalls> {
  if (process.platform !== 'linux') return patient;
  const { type } = await statfs(folder);
  return LOCAL.has(type) ? immediate : patient;
}
