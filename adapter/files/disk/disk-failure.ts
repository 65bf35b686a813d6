import { FileRefused, StorageFault } from '../keys/file-key.ts';

/** What an error of the file system says about the file; everything else is a failure of the disk. */
const REFUSALS: Readonly<Record<string, FileRefused['reason']>> = {
  ENOENT: 'missing',
  ENAMETOOLONG: 'missing',
  ELOOP: 'linked',
  EMLINK: 'linked',
  ENOTDIR: 'not_a_file',
  EISDIR: 'not_a_file',
  // A socket, or a device without a driver.
  ENXIO: 'not_a_file',
  ENODEV: 'not_a_file',
};

/** The code of an error of the file system, '' of any other error. */
export const errorCode = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';

/** An error of the file system as FileRefused or StorageFault, naming the real path and not how it was reached. */
export function diskFailure(error: unknown, path: string): unknown {
  if (error instanceof FileRefused || error instanceof StorageFault) return error;
  const code = errorCode(error);
  const reason = REFUSALS[code];
  if (reason !== undefined) return new FileRefused(reason, `${path}: ${code}`, { cause: error });
  return /^E[A-Z0-9]+$/.test(code) ? new StorageFault(code, `${path}: ${code}`, { cause: error }) : error;
}

/** Whether it is about this one entry, which somebody else made for himself alone; other faults are the disk's. */
export const isForbidden = (error: unknown): error is StorageFault =>
  error instanceof StorageFault && (error.code === 'EACCES' || error.code === 'EPERM');

/** Runs a step on the file at `path`; its failures become FileRefused or StorageFault. */
export async function onDisk<T>(path: string, step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    throw diskFailure(error, path);
  }
}
