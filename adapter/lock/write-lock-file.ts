import { randomBytes } from 'node:crypto';
import { open, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

const NEW_FILE_MODE = 0o666;

/**
 * Replaces a file as a whole: whoever reads it sees the text before or this one, whatever happens in between. Where the path
 * is a link, what it leads to is replaced. The mode stays.
 */
export async function writeLockFile(path: string, text: string): Promise<void> {
  const target = await realpath(path).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return path;
    throw error;
  });
  const before = await stat(target).catch(() => undefined);
  // Else a device or a pipe would be replaced.
  if (before?.isFile() === false) throw new Error(`${path} is no file`);
  const beside = join(dirname(target), `.${basename(target)}.${randomBytes(6).toString('hex')}`);
  try {
    await using file = await open(beside, 'wx', NEW_FILE_MODE);
    if (before !== undefined) await file.chmod(before.mode & 0o777);
    await file.writeFile(text);
    await file.sync();
    await rename(beside, target);
  } catch (error) {
    await rm(beside, { force: true });
    throw error;
  }
}
