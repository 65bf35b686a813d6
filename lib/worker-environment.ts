import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';

/**
 * Environment of a thread: no variable of this process, which may be secrets. Only where this process keeps what it has
 * compiled, the thread finds it there too.
 */
export function workerEnvironment(): NodeJS.ProcessEnv {
  // A folder for this version of Node, in the one that was configured.
  const folder = getCompileCacheDir();
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: dirname(folder) };
}
