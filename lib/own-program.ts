import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** A build has fewer folders than the sources. */
const FOLDERS = ['./', '../', '../../', '../../../'];

/**
 * The file of another program of ours, or of a thread: the nearest one beside a module or above it, in the sources as in a build.
 * @param name as `adapter/main`
 * @param module its `import.meta.url`
 * @throws where it is not installed
 */
export function ownProgram(name: string, module: string): string {
  const paths = FOLDERS.flatMap((folder) => ['js', 'ts'].map((ending) => `${folder}${name}.${ending}`));
  const found = paths.map((path) => fileURLToPath(new URL(path, module))).find(existsSync);
  if (found === undefined) throw new Error(`the program ${name} is missing: the installation is not complete`);
  return found;
}
